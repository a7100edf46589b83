"""The playground for engineers: it calls a tool with arguments that they choose, and shows its answer beside what the
API sent. Such a call is recorded with a transport of its own, outside all figures."""
