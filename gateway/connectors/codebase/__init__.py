"""Tools for source trees: they answer questions about a tree, and write commit messages for its changes."""
