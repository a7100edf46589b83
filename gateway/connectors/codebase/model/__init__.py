"""The optional language model. It writes commit messages, and answers that are shown above the excerpts. Off by
default."""
