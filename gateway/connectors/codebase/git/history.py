"""The commits of a repository, newest first."""

import re
from collections.abc import Iterator
from itertools import islice

import pygit2
from pygit2.enums import SortMode

from gateway.connectors.codebase.git.past_commit import PastCommit
from gateway.connectors.codebase.git.tree_paths import differing

MAX_COMMITS = 20_000
MAX_PATHS = 1_000  # of one commit; a commit that touches more says little about each path

# The names of the programs that make commits on GitHub and GitLab: "renovate[bot]", "release-bot", "bot@example.org".
_BOT = re.compile(rb"(?i)(?<![a-z])bot(?![a-z])|dependabot|renovate|greenkeeper|github.actions")


def past(repository: pygit2.Repository, limit: int = MAX_COMMITS) -> Iterator[PastCommit]:
    """The newest `limit` commits that HEAD reaches; fewer if the clone is shallow or lacks commits. SortMode.TIME is
    not used, because it would read the whole history before the first commit."""
    if repository.head_is_unborn:
        return
    try:
        for commit in islice(repository.walk(repository.head.target, SortMode.NONE), limit):
            yield _past_commit(commit)
    except (KeyError, pygit2.GitError):
        return


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
        by_bot=bool(_BOT.search(commit.author.raw_name) or _BOT.search(commit.author.raw_email)),
    )


def _paths(commit: pygit2.Commit) -> tuple[str, ...]:
    try:
        before = commit.parents[0].tree if commit.parent_ids else None
        return tuple(map(text, sorted(islice(differing(before, commit.tree), MAX_PATHS))))
    except (KeyError, pygit2.GitError):  # a shallow or partial clone lacks the other side
        return ()
