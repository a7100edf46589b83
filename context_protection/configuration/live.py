"""Configuration in the process: loaded once per revision, read without the database."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import DatabaseError

from context_protection.configuration.revisions import Revisions, revisions

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Live(Generic[T]):
    """A frozen value made by `load`, loaded again when the revision has moved: the configuration's, or another. If that
    fails, the last good value stays (law 5)."""

    def __init__(self, load: Callable[[], T], revisions: Revisions = revisions) -> None:
        self._load, self._revisions = load, revisions
        self._held: tuple[int, T] | None = None
        self._is_outdated = False
        self._lock = threading.Lock()

    def get(self) -> T:
        revision = self._revisions.current()
        held = self._held
        if held is not None and held[0] == revision:
            return held[1]
        with self._lock:
            held = self._held
            if held is None or held[0] != revision:
                held = self._held = self._reloaded(revision, held)
            return held[1]

    def fresh(self) -> T:
        """As `get`, for who keeps the last good value itself: raises DatabaseError where there is a newer one that
        cannot be loaded."""
        value = self.get()
        if self._is_outdated:
            raise DatabaseError("the configuration could not be loaded")
        return value

    def current(self) -> T | None:
        """What `get` would give, if it had neither to load nor to wait for it."""
        held = self._held
        return held[1] if held is not None and held[0] == self._revisions.current() else None

    @property
    def held(self) -> T | None:
        """The value as it was loaded last, if it was: without a look at the revision, or at the database."""
        held = self._held
        return None if held is None else held[1]

    def _reloaded(self, revision: int, held: tuple[int, T] | None) -> tuple[int, T]:
        """The new value; while it cannot be loaded the last one, under its own revision, so that the next call tries
        again."""
        try:
            loaded = revision, self._load()
            self._is_outdated = False
            return loaded
        except DatabaseError as error:
            if held is None:
                raise
            self._is_outdated = True
            logger.warning("configuration not reloaded; the last one stays", extra={"error": str(error)})
            return held
