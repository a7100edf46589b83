"""Configuration cached in the process: loaded once per revision, then read without a query."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import DatabaseError

from context_protection.configuration.revisions import Revisions, revisions

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Live(Generic[T]):
    """A frozen value that `load` returns. It is loaded again when the revision changes; if that fails, the last good
    value remains in use (law 5)."""

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
        """Like `get`, but raises DatabaseError if a newer value exists and cannot be loaded. For callers that store the
        last good value themselves."""
        value = self.get()
        if self._is_outdated:
            raise DatabaseError("the configuration could not be loaded")
        return value

    def current(self) -> T | None:
        """The value that `get` would return, or None if `get` would have to load it."""
        held = self._held
        return held[1] if held is not None and held[0] == self._revisions.current() else None

    @property
    def held(self) -> T | None:
        """The last loaded value, if any. Checks neither the revision nor the database."""
        held = self._held
        return None if held is None else held[1]

    def _reloaded(self, revision: int, held: tuple[int, T] | None) -> tuple[int, T]:
        """The new value and its revision. If loading fails, returns `held`: its revision is old, so the next call tries
        again."""
        try:
            loaded = revision, self._load()
            self._is_outdated = False
            return loaded
        except DatabaseError as error:
            if held is None:
                raise
            self._is_outdated = True
            logger.warning("configuration not reloaded; the last one remains in use", extra={"error": str(error)})
            return held
