"""The changes of a repository: since a commit, or those that are not committed yet."""

import pygit2
from pygit2.enums import DiffFind, DiffOption, ObjectType

from gateway.connectors.codebase.git.changes import ChangeSet
from gateway.connectors.codebase.git.patches import change_set
from gateway.connectors.codebase.git.repository import empty_tree

LONGEST_NAME = 250  # characters of the name of a commit
MAX_RENAMES = 400  # files on each side whose contents are compared with each other
MAX_EXACT_RENAMES = 5_000  # the same, where the contents must be equal
_FLAGS = (
    DiffOption.INCLUDE_UNTRACKED
    | DiffOption.RECURSE_UNTRACKED_DIRS
    | DiffOption.SHOW_UNTRACKED_CONTENT
    | DiffOption.INCLUDE_TYPECHANGE
)
_EXPECTED = (
    "Expected: the hash of a commit of this project, at least 4 digits of it, or a branch, a tag, or HEAD~3. "
    "Omit sinceCommit to use what is not committed yet."
)


class CommitRefused(ValueError):
    """A name of no commit, or a repository without changes to tell. The message names sinceCommit where it is wrong."""


def since(repository: pygit2.Repository, name: str) -> ChangeSet:
    """What differs between a commit and the work tree, with untracked files that are not ignored as added. In a bare
    repository: between the commit and HEAD. Raises CommitRefused."""
    return _changes(repository, _commit(repository, name).tree)


def uncommitted(repository: pygit2.Repository) -> ChangeSet:
    """What differs between HEAD and the work tree, as `since`; where nothing does, the changes of the last commit
    against its first parent. Raises CommitRefused for a repository without commits and files."""
    if repository.head_is_unborn:
        changes = _changes(repository, empty_tree(repository))
        if not changes.files:
            raise CommitRefused("The project has no commit and no file yet, so there is nothing to describe.")
        return changes
    head = repository.head.peel(pygit2.Commit)
    if not repository.is_bare:
        changes = _changes(repository, head.tree)
        if changes.files:
            return changes
    return _last(repository, head)


def _last(repository: pygit2.Repository, head: pygit2.Commit) -> ChangeSet:
    if not head.parent_ids:
        return _between(repository, empty_tree(repository), head.tree)
    try:
        before = head.parents[0].tree
    except KeyError:
        raise CommitRefused(
            "The last commit's parent is not in this clone, so its changes are unknown. Run `git fetch --deepen=1` in "
            "the project, or send the diff as sinceDiff."
        ) from None
    return _between(repository, before, head.tree)


def _changes(repository: pygit2.Repository, old: pygit2.Tree) -> ChangeSet:
    if repository.is_bare:
        if repository.head_is_unborn:
            return ChangeSet(())
        return _between(repository, old, repository.head.peel(pygit2.Tree))
    index = repository.index
    index.read()
    # As `git diff <commit>`: the index tells which files are tracked, also those that .gitignore names.
    diff = old.diff_to_index(index, _FLAGS)
    diff.merge(index.diff_to_workdir(_FLAGS))
    return _told(repository, diff)


def _between(repository: pygit2.Repository, old: pygit2.Tree, new: pygit2.Tree) -> ChangeSet:
    return _told(repository, old.diff_to_tree(new, _FLAGS, interhunk_lines=0))


def _told(repository: pygit2.Repository, diff: pygit2.Diff) -> ChangeSet:
    renames = DiffFind.FIND_RENAMES | DiffFind.FIND_FOR_UNTRACKED
    diff.find_similar(renames | DiffFind.FIND_EXACT_MATCH_ONLY, rename_limit=MAX_EXACT_RENAMES)
    diff.find_similar(renames, rename_limit=MAX_RENAMES)
    return change_set(repository, diff)


def _commit(repository: pygit2.Repository, name: str) -> pygit2.Commit:
    """Git's names may also search messages (`:/text`, `^{/text}`), which is slow and finds what nobody meant."""
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
    if not name.strip():
        raise CommitRefused(f"sinceCommit is empty. {_EXPECTED}")
    if len(name) > LONGEST_NAME or ":" in name or "{/" in name or not name.isprintable():
        raise CommitRefused(f"sinceCommit is {shown!r}, which is no name of a commit. {_EXPECTED}")
    if ".." in name:
        raise CommitRefused(f"sinceCommit is {shown!r}, a range. Give its start alone. {_EXPECTED}")
    try:
        found = repository.revparse_single(name.strip())
    except ValueError as error:
        why = "fits several objects" if "ambiguous" in str(error) else "is no name of a commit"
        raise CommitRefused(f"sinceCommit is {shown!r}, which {why}. {_EXPECTED}") from None
    except (KeyError, OSError, pygit2.GitError):
        raise CommitRefused(f"sinceCommit is {shown!r}, which this project does not have. {_EXPECTED}") from None
    if found.type not in (ObjectType.COMMIT, ObjectType.TAG):
        raise CommitRefused(f"sinceCommit is {shown!r}, which is a {found.type_str}, no commit. {_EXPECTED}")
    try:
        return found.peel(pygit2.Commit)
    except (ValueError, pygit2.GitError):
        raise CommitRefused(f"sinceCommit is {shown!r}, a tag of something that is no commit. {_EXPECTED}") from None
