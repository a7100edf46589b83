"""Notices that the configuration file has changed, in every process.

A thread looks at the file's modification time, size and inode every LOOK_SECONDS, with one stat.
Notifications of the operating system would cost less, but they do not arrive from network file systems and mounted
volumes, which is where the file usually is in production.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

from django.db import close_old_connections

from context_protection.layers.file.source import ConfigurationFile, FileOutcome, signature

LOOK_SECONDS = 0.05
SETTLE_SECONDS = 0.01  # a file that changes again within this time is still being written
RETRY_SECONDS = 1.0

logger = logging.getLogger(__name__)
Listener = Callable[[FileOutcome], None]
_listeners: list[Listener] = []


def follow(listener: Listener) -> None:
    """Calls `listener` on the watcher's thread for each change of the file that this process has accepted or rejected.
    Its errors are logged, and affect nothing else."""
    if listener not in _listeners:
        _listeners.append(listener)


class FileWatcher:
    """Calls `changed` on a thread of its own whenever the file has changed and is completely written."""

    def __init__(self, file: ConfigurationFile, changed: Callable[[], None]) -> None:
        self._file, self._changed = file, changed
        self._running_in: int | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Starts the thread, once per process, if there is a file."""
        if self._running_in == os.getpid() or not self._file.path:
            return
        with self._lock:
            if self._running_in != os.getpid():
                self._running_in = os.getpid()
                threading.Thread(target=self._run, name="configuration file", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self.look()
                time.sleep(LOOK_SECONDS)
            except Exception as error:  # the database is down; the next look tries again
                logger.warning("configuration file not applied yet", extra={"error": str(error)})
                time.sleep(RETRY_SECONDS)

    def look(self) -> None:
        if self._file.has_changed and self._is_written():
            try:
                self._changed()
            finally:
                close_old_connections()
        while self._file.outcomes:
            self._report(self._file.outcomes.popleft())

    def _is_written(self) -> bool:
        before = signature(self._file.path)
        time.sleep(SETTLE_SECONDS)
        return signature(self._file.path) == before

    def _report(self, outcome: FileOutcome) -> None:
        for listener in _listeners:
            try:
                listener(outcome)
            except Exception:
                logger.exception("a change of the configuration file was not reported")
            finally:
                close_old_connections()
