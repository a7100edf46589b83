"""The optional language model: it words the commit message, and answers above the excerpts. Off by default."""
