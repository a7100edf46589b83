"""The playground of engineers: a tool is called with arguments that they choose, and its answer is shown beside what
the API sent. Such a call is recorded with a transport of its own, outside all figures."""
