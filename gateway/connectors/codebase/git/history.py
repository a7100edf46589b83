"""The past of a repository, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pygit2
from pygit2.enums import SortMode

MAX_COMMITS = 20_000
MAX_PATHS = 1_000  # of one commit. A commit that touches more says nothing about each of them


@dataclass(frozen=True, slots=True)
class PastCommit:
    """`time`: when it was committed, in seconds since 1970. `paths`: files that differ from the first parent; none of a
    merge, whose files belong to the commits that it brings, and at most MAX_PATHS. Bytes of the message that are not of
    its encoding are surrogates."""

    id: str
    time: int
    subject: str
    body: str
    paths: tuple[str, ...]
    merge: bool


def past(repository: pygit2.Repository, limit: int = MAX_COMMITS) -> Iterator[PastCommit]:
    """The commits that HEAD reaches, the newest `limit` of them. Fewer where the clone ends: at the edge of a shallow
    one, or where commits are missing that should be there."""
    if repository.head_is_unborn:
        return
    try:
        for commit in islice(repository.walk(repository.head.target, SortMode.TIME), limit):
            yield _past_commit(commit)
    except (KeyError, pygit2.GitError):
        return


def text(raw: bytes, encoding: str | None = None) -> str:
    """Bytes of a repository as text; those that are of no known encoding become surrogates."""
    try:
        return raw.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return raw.decode("utf-8", "surrogateescape")


def _past_commit(commit: pygit2.Commit) -> PastCommit:
    first, _, rest = text(commit.raw_message, commit.message_encoding).strip().partition("\n\n")
    parents = len(commit.parent_ids)
    return PastCommit(
        id=str(commit.id),
        time=commit.commit_time,
        subject=" ".join(first.split()),
        body=rest.strip(),
        paths=_paths(commit) if parents < 2 else (),
        merge=parents > 1,
    )


def _paths(commit: pygit2.Commit) -> tuple[str, ...]:
    try:
        if commit.parent_ids:
            diff = commit.parents[0].tree.diff_to_tree(commit.tree)
        else:
            diff = commit.tree.diff_to_tree(swap=True)
    except (KeyError, pygit2.GitError):  # a shallow or partial clone lacks the other side
        return ()
    return tuple(text(delta.new_file.raw_path) for delta in islice(diff.deltas, MAX_PATHS))
