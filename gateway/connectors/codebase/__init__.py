"""A source tree as a source of tools: questions about it, and commit messages for its changes."""
