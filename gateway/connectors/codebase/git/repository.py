"""A project's repository, opened with libgit2, which starts no program: fsmonitor, hooks, filters, textconv, external
diffs and aliases of a tree's configuration are never run. Nothing is fetched or written.

The machine's own git configuration is not read, so that answers depend on the tree alone. The owner of the folder is
not checked (git's safe.directory), because ops have registered it and nothing in its configuration is run.
"""

import os
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, RepositoryOpenFlag

from gateway.connectors.codebase.git.refusal import RepositoryRefused

# Extensions that do not change how objects are read. Objects that a partial clone lacks count as missing.
_EXTENSIONS = ["partialclone", "relativeworktrees"]
_WINDOW, _WINDOWS = 1_048_576, 33_554_432  # bytes of pack files that are mapped at once: per piece, and in total
_OUTSIDE = (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL, ConfigLevel.PROGRAMDATA)

for _level in _OUTSIDE:
    pygit2.settings.search_path[_level] = ""
pygit2.settings.owner_validation = False
pygit2.settings.set_extensions(_EXTENSIONS)
# By default, libgit2 caches up to 256 MB of objects, though each is used once here, and maps all packed objects.
pygit2.settings.enable_caching(False)
pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = _WINDOW, _WINDOWS

# In libgit2's errors for repositories that git itself can read, such as those with SHA-256.
_FOREIGN_FORMATS = ("unknown object format", "unsupported extension")

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # libgit2 knows it; it need not be stored


def opened(root: Path) -> pygit2.Repository:
    """The repository whose root is this folder: a work tree, one made by `git worktree add`, or a bare repository.
    Raises RepositoryRefused. To be used by one thread."""
    try:
        repository = pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        raise RepositoryRefused(_why(root, error)) from None
    if _is_implicitly_bare(root, repository):
        return pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE)
    if root.name == ".git":
        raise RepositoryRefused(f"{root} is the inside of a git repository. Use the folder around it: {root.parent}")
    work_tree = repository.workdir
    if work_tree is not None and os.path.realpath(work_tree) != os.path.realpath(root):
        raise RepositoryRefused(
            f"The repository at {root} has its work tree elsewhere (core.worktree in its configuration). "
            "Only files below the root are read: register the folder of the work tree, or remove core.worktree."
        )
    return repository


def empty_tree(repository: pygit2.Repository) -> pygit2.Tree:
    return repository[_EMPTY_TREE].peel(pygit2.Tree)


def _is_implicitly_bare(root: Path, repository: pygit2.Repository) -> bool:
    """Whether git would treat the folder as a bare repository: it holds objects and references, and its configuration
    names no work tree. libgit2 would use the parent folder as its work tree."""
    return (
        root.name != ".git"
        and os.path.realpath(repository.path) == os.path.realpath(root)
        and not any(name in repository.config for name in ("core.bare", "core.worktree"))
    )


def _why(root: Path, error: Exception) -> str:
    if not _looks_like_one(root):
        above = next((each for each in root.parents if (each / ".git").exists()), None)
        if above:
            return f"{root} is a folder inside of a git repository. Use the repository's root: {above}"
        return f"{root} is not a git repository. Run `git init` there, or choose the root folder of one."
    is_sound = any(each in str(error) for each in _FOREIGN_FORMATS)
    advice = "Add a copy of it in git's default format." if is_sound else f"Check it with `git -C {root} status`."
    return f"The git repository at {root} cannot be read: {error}. {advice}"


def _looks_like_one(root: Path) -> bool:
    return (root / ".git").exists() or (root / "HEAD").is_file()
