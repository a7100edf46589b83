"""Configuration in the process: loaded once per revision, read without the database (design: hot path)."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import DatabaseError

from context_protection.revisions import revisions

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Live(Generic[T]):
    """A frozen value made by `load`, loaded again when the revision has moved. If that fails, the last good value
    stays (law 5)."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._held: tuple[int, T] | None = None
        self._lock = threading.Lock()

    def get(self) -> T:
        revision = revisions.current()
        held = self._held
        if held is not None and held[0] == revision:
            return held[1]
        with self._lock:
            held = self._held
            if held is None or held[0] != revision:
                held = self._held = self._reloaded(revision, held)
            return held[1]

    @property
    def held(self) -> T | None:
        """The value as it was loaded last, if it was: without a look at the revision, or at the database."""
        held = self._held
        return None if held is None else held[1]

    def _reloaded(self, revision: int, held: tuple[int, T] | None) -> tuple[int, T]:
        """The new value; while it cannot be loaded the last one, under its own revision, so that the next call tries
        again."""
        try:
            return revision, self._load()
        except DatabaseError as error:
            if held is None:
                raise
            logger.warning("configuration not reloaded; the last one stays", extra={"error": str(error)})
            return held
