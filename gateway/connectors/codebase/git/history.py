"""The commits of a repository, newest first."""

import re
from collections.abc import Iterator
from itertools import dropwhile, islice

import pygit2
from pygit2.enums import SortMode

from gateway.connectors.codebase.git.past_commit import PastCommit
from gateway.connectors.codebase.git.tree_paths import differing

MAX_COMMITS = 20_000
MAX_PATHS = 1_000  # of one commit; a commit that touches more says little about each path

# Ends the subject of a message. As in git, it may hold blanks and a carriage return.
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
# The names of the programs that make commits on GitHub and GitLab: "renovate[bot]", "release-bot", "bot@example.org".
_BOT = re.compile(rb"(?i)(?<![a-z])bot(?![a-z])|dependabot|renovate|greenkeeper|github.actions")


class CommitNotFound(LookupError):
    """HEAD does not reach the commit."""


def past(
    repository: pygit2.Repository,
    limit: int = MAX_COMMITS,
    *,
    after: str = "",
    most_paths: int | None = MAX_PATHS,
) -> Iterator[PastCommit]:
    """The newest `limit` commits that HEAD reaches, or the next ones after the commit whose id begins with `after`;
    fewer if the clone is shallow or lacks commits. SortMode.TIME is not used, because it would read the whole history
    before the first commit. `most_paths`: of one commit; None for all. Raises CommitNotFound for `after`."""
    if repository.head_is_unborn:
        return
    try:
        for commit in islice(_walk(repository, after), limit):
            yield _past_commit(commit, most_paths)
    except (KeyError, pygit2.GitError):
        return


def _walk(repository: pygit2.Repository, after: str) -> Iterator[pygit2.Commit]:
    walk: Iterator[pygit2.Commit] = repository.walk(repository.head.target, SortMode.NONE)
    if after:
        walk = dropwhile(lambda commit: not str(commit.id).startswith(after), walk)
        if next(walk, None) is None:
            raise CommitNotFound
    return walk


def count(repository: pygit2.Repository, limit: int = MAX_COMMITS) -> int:
    """How many commits `past` would yield, without reading their changes."""
    if repository.head_is_unborn:
        return 0
    found = 0
    try:
        for _ in islice(repository.walk(repository.head.target, SortMode.NONE), limit):
            found += 1
    except (KeyError, pygit2.GitError):  # where the clone ends
        return found
    return found


def text(raw: bytes, encoding: str | None = None) -> str:
    """Decodes bytes of a repository. If the encoding is unknown or wrong, UTF-8 is used, and bytes that are not UTF-8
    become surrogates."""
    try:
        return raw.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return raw.decode("utf-8", "surrogateescape")


def _past_commit(commit: pygit2.Commit, most_paths: int | None) -> PastCommit:
    first, *rest = _EMPTY_LINE.split(text(commit.raw_message, commit.message_encoding).strip(), maxsplit=1)
    parents = len(commit.parent_ids)
    return PastCommit(
        id=str(commit.id),
        time=commit.commit_time,
        subject=" ".join(first.split()),
        body="".join(rest).strip(),
        paths=_paths(commit, most_paths) if parents < 2 else (),
        merge=parents > 1,
        by_bot=bool(_BOT.search(commit.author.raw_name) or _BOT.search(commit.author.raw_email)),
    )


def _paths(commit: pygit2.Commit, most: int | None) -> tuple[str, ...]:
    try:
        before = commit.parents[0].tree if commit.parent_ids else None
        return tuple(map(text, sorted(islice(differing(before, commit.tree), most))))
    except (KeyError, pygit2.GitError):  # a shallow or partial clone lacks the other side
        return ()
