"""The exception for a folder that cannot be read as a repository. This module does not import libgit2, which most
processes never load."""


class RepositoryRefused(ValueError):
    """The folder is not a repository, or cannot be read safely. The message says what to do next."""
