"""What a folder that cannot be read as a repository raises. Apart from libgit2, which most processes never load."""


class RepositoryRefused(ValueError):
    """A folder that is no repository, or one that cannot be read safely. The message says what to do next."""
