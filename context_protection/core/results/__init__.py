"""What is behind a result handle, looked into: by path, by search, by SQL."""
