"""The habits of a project's authors, read once per HEAD commit and cached for further messages of the project."""

from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pygit2

from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.git.history import past
from gateway.connectors.codebase.git.repository import opened

COMMITS = 4_000  # the newest commits are read, up to this number
_PROJECTS = 4  # whose habits a process caches; each takes a few MB

_cached: dict[tuple[Path, str], Habits] = {}  # the oldest first


def habits_of(root: Path, has_left: Callable[[], bool]) -> Habits:
    """The habits in the commits that could be read while `has_left` was true. They are not cached if it became false.
    Raises RepositoryRefused."""
    repository = opened(root)
    key = (root, _head(repository))
    if key in _cached:
        return _cached[key]
    stopped = False

    def goes_on(_: object) -> bool:
        nonlocal stopped
        stopped = stopped or not has_left()
        return not stopped

    habits = Habits(takewhile(goes_on, past(repository, COMMITS)))
    if not stopped:
        for earlier in [each for each in _cached if each[0] == root]:
            del _cached[earlier]
        _cached[key] = habits
        if len(_cached) > _PROJECTS:
            del _cached[next(iter(_cached))]
    return habits


def _head(repository: pygit2.Repository) -> str:
    return "" if repository.head_is_unborn else str(repository.head.target)
