"""The habits of a project's authors, read once for a commit: the next message of the same project has them at hand."""

from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pygit2

from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.git.history import past
from gateway.connectors.codebase.git.repository import opened

COMMITS = 4_000  # that are read, the newest
_PROJECTS = 4  # whose habits a process keeps: a few MB each

_kept: dict[tuple[Path, str], Habits] = {}  # the oldest first


def habits_of(root: Path, has_left: Callable[[], bool]) -> Habits:
    """Of the commits that could be read while `has_left` was true. Raises RepositoryRefused."""
    repository = opened(root)
    key = (root, _head(repository))
    if key in _kept:
        return _kept[key]
    stopped = False

    def goes_on(_: object) -> bool:
        nonlocal stopped
        stopped = stopped or not has_left()
        return not stopped

    habits = Habits(takewhile(goes_on, past(repository, COMMITS)))
    if not stopped:
        for earlier in [each for each in _kept if each[0] == root]:
            del _kept[earlier]
        _kept[key] = habits
        if len(_kept) > _PROJECTS:
            del _kept[next(iter(_kept))]
    return habits


def _head(repository: pygit2.Repository) -> str:
    return "" if repository.head_is_unborn else str(repository.head.target)
