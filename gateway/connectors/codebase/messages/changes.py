"""The changes that a message is about: those in a diff, those since a commit, or those that are not committed yet."""

from collections.abc import Callable
from pathlib import Path

from context_protection.core.errors import CallError, InvalidArgument, NotFound
from gateway.connectors.codebase.commits.diff_names import DiffRefused
from gateway.connectors.codebase.commits.diff_text import read_diff
from gateway.connectors.codebase.git.changes import ChangeSet
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.worktree import CommitRefused, since, uncommitted
from gateway.connectors.codebase.messages.request import CommitRequest

_DIFF = "the output of `git diff`, of at most 1,000,000 bytes, with paths from the project's root"
_COMMIT = "the hash of a commit of this project, a branch, a tag, or HEAD~3"


def changes_of(request: CommitRequest, root: Path, has_left: Callable[[], bool]) -> ChangeSet:
    """For a diff, nothing of the project is read. Raises CallError, and RepositoryRefused."""
    if request.since_diff is not None:
        return _of_diff(request.since_diff)
    try:
        changes = _of_project(request, root, has_left)
    except CommitRefused as refused:
        raise _refused(request, refused) from None
    if not changes.files:
        raise _nothing(request)
    return changes


def _of_project(request: CommitRequest, root: Path, has_left: Callable[[], bool]) -> ChangeSet:
    repository = opened(root)
    if request.since_commit is None:
        return uncommitted(repository, has_left)
    return since(repository, request.since_commit, has_left)


def _of_diff(text: str) -> ChangeSet:
    try:
        return read_diff(text)
    except DiffRefused as refused:
        raise InvalidArgument(
            str(refused).partition(" Expected: ")[0],
            reason="invalid_diff",
            parameter="sinceDiff",
            value=text[:200],
            expected=_DIFF,
            suggestion="Set sinceDiff to the output of `git diff`, or leave it out to describe the work tree.",
        ) from None


def _refused(request: CommitRequest, refused: CommitRefused) -> CallError:
    if request.since_commit is None:  # then the project has no changes
        return NotFound(str(refused), reason="no_changes", suggestion="Send the changes as sinceDiff.")
    return InvalidArgument(
        str(refused).partition(" Expected: ")[0],
        reason="invalid_commit",
        parameter="sinceCommit",
        value=request.since_commit,
        expected=_COMMIT,
        suggestion="Leave sinceCommit out to describe what is not committed yet, or else the last commit. "
        'dbp_general_query with {"operation": "history"} lists commits.',
    )


def _nothing(request: CommitRequest) -> CallError:
    commit = request.since_commit
    if commit is None:
        return NotFound(
            "The last commit changes no file, and nothing is left to be committed.",
            reason="no_changes",
            suggestion='Set sinceCommit to an earlier commit, such as "HEAD~2".',
        )
    return InvalidArgument(
        "Nothing differs between sinceCommit and the work tree.",
        reason="no_changes",
        parameter="sinceCommit",
        value=commit,
        expected="a commit before the changes",
        suggestion=f"Set sinceCommit to {commit}~1, or leave it out to describe the last commit.",
    )
