"""The changes of a repository: since a commit, or those that are not committed yet."""

from collections import Counter
from collections.abc import Callable

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption, ObjectType

from gateway.connectors.codebase.git.changes import ChangeSet
from gateway.connectors.codebase.git.patches import change_set
from gateway.connectors.codebase.git.repository import empty_tree

LONGEST_NAME = 250  # characters of the name of a commit
MAX_RENAMES = 400  # with more added or deleted files, only renames with equal contents are found
MAX_EXACT_RENAMES = 5_000  # the limit for renames with equal contents
_FLAGS = (
    DiffOption.INCLUDE_UNTRACKED
    | DiffOption.RECURSE_UNTRACKED_DIRS
    | DiffOption.SHOW_UNTRACKED_CONTENT
    | DiffOption.INCLUDE_TYPECHANGE
)
WITHOUT = "Omit sinceCommit to use what is not committed yet."
_EXPECTED = (
    f"Expected: the hash of a commit of this project, at least 4 digits of it, or a branch, a tag, or HEAD~3. {WITHOUT}"
)


class CommitRefused(ValueError):
    """The name is not that of a commit, or the repository has no changes to describe. The message names sinceCommit if
    the name is wrong."""


HasLeft = Callable[[], bool]


def since(repository: pygit2.Repository, name: str, has_left: HasLeft = lambda: True) -> ChangeSet:
    """What differs between a commit and the work tree. Untracked files count as added unless git ignores them. In a
    bare repository: what differs between the commit and HEAD. Once `has_left` is false, further files are listed
    without their lines. Raises CommitRefused."""
    return _changes(repository, _commit(repository, name).tree, has_left)


def uncommitted(repository: pygit2.Repository, has_left: HasLeft = lambda: True) -> ChangeSet:
    """What differs between HEAD and the work tree, as in `since`. If nothing does, the changes of the last commit
    against its first parent. Raises CommitRefused for a repository without commits and files."""
    if repository.head_is_unborn:
        changes = _changes(repository, empty_tree(repository), has_left)
        if not changes.files:
            raise CommitRefused("The project has no commit and no file yet, so there is nothing to describe.")
        return changes
    head = repository.head.peel(pygit2.Commit)
    if not repository.is_bare:
        changes = _changes(repository, head.tree, has_left)
        if changes.files:
            return changes
    return _last(repository, head, has_left)


def _last(repository: pygit2.Repository, head: pygit2.Commit, has_left: HasLeft) -> ChangeSet:
    if not head.parent_ids:
        return _between(repository, empty_tree(repository), head.tree, has_left)
    try:
        before = head.parents[0].tree
    except KeyError:
        raise CommitRefused(
            "The last commit's parent is not in this clone, so its changes are unknown. Run `git fetch --deepen=1` in "
            "the project, or send the diff as sinceDiff."
        ) from None
    return _between(repository, before, head.tree, has_left)


def _changes(repository: pygit2.Repository, old: pygit2.Tree, has_left: HasLeft) -> ChangeSet:
    if repository.is_bare:
        if repository.head_is_unborn:
            return ChangeSet(())
        return _between(repository, old, repository.head.peel(pygit2.Tree), has_left)
    index = repository.index
    index.read()
    # Like `git diff <commit>`: files in the index are tracked, even if .gitignore names them.
    diff = old.diff_to_index(index, _FLAGS)
    diff.merge(index.diff_to_workdir(_FLAGS))
    return _with_renames(repository, diff, has_left)


def _between(repository: pygit2.Repository, old: pygit2.Tree, new: pygit2.Tree, has_left: HasLeft) -> ChangeSet:
    return _with_renames(repository, old.diff_to_tree(new, _FLAGS, interhunk_lines=0), has_left)


def _with_renames(repository: pygit2.Repository, diff: pygit2.Diff, has_left: HasLeft) -> ChangeSet:
    """Looks for renames only once, because libgit2 fails on a diff that already has renames."""
    renames = DiffFind.FIND_RENAMES | DiffFind.FIND_FOR_UNTRACKED
    try:
        if _one_sided(diff) <= MAX_RENAMES and has_left():
            diff.find_similar(renames, rename_limit=MAX_RENAMES)
        else:
            diff.find_similar(renames | DiffFind.FIND_EXACT_MATCH_ONLY, rename_limit=MAX_EXACT_RENAMES)
    except KeyError:  # a partial clone lacks contents to compare, so a rename stays a deletion and an addition
        pass
    return change_set(repository, diff, has_left)


def _one_sided(diff: pygit2.Diff) -> int:
    """The number of added files, or of deleted ones, whichever is larger."""
    kinds = Counter(delta.status for delta in diff.deltas)
    return max(kinds[DeltaStatus.ADDED] + kinds[DeltaStatus.UNTRACKED], kinds[DeltaStatus.DELETED])


def _commit(repository: pygit2.Repository, name: str) -> pygit2.Commit:
    """The commit of this name. Raises CommitRefused, also for names that search commit messages (`:/text`, `^{/text}`):
    that is slow and may find an unrelated commit."""
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
    if not name.strip():
        raise CommitRefused(f"sinceCommit is empty. {_EXPECTED}")
    if len(name) > LONGEST_NAME or ":" in name or "{/" in name or not name.isprintable():
        raise CommitRefused(f"sinceCommit is {shown!r}, which is not the name of a commit. {_EXPECTED}")
    if ".." in name:
        raise CommitRefused(f"sinceCommit is {shown!r}, a range. Give only its start. {_EXPECTED}")
    try:
        found = repository.revparse_single(name.strip())
    except ValueError as error:
        why = "matches several objects" if "ambiguous" in str(error) else "is not the name of a commit"
        raise CommitRefused(f"sinceCommit is {shown!r}, which {why}. {_EXPECTED}") from None
    except (KeyError, OSError, pygit2.GitError):
        raise CommitRefused(f"sinceCommit is {shown!r}, which this project does not have. {_EXPECTED}") from None
    if found.type not in (ObjectType.COMMIT, ObjectType.TAG):
        raise CommitRefused(f"sinceCommit is {shown!r}, which is a {found.type_str}, not a commit. {_EXPECTED}")
    try:
        return found.peel(pygit2.Commit)
    except (ValueError, pygit2.GitError):
        raise CommitRefused(f"sinceCommit is {shown!r}, a tag of something that is not a commit. {_EXPECTED}") from None
