"""The stream of the log lines: stderr. A thread can send many lines in few writes.

During each write, another thread may take over Python. The writing thread then waits for its turn, and interrupts the
thread that serves requests.
"""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

# Bytes that one write sends to a pipe as a whole, so that lines of several processes do not mix.
WRITTEN_BYTES: Final = 4096


class LogStream:
    """Passes on each line at once, except within `together`. `target`: None in a process without stderr.

    Needs no lock: the target has its own. A lock here could be waited for forever, by a finalizer that logs while its
    own thread is writing."""

    def __init__(self, target: TextIO | None) -> None:
        self._target = target
        self._of_thread = threading.local()

    def write(self, text: str) -> None:
        lines: list[str] | None = getattr(self._of_thread, "lines", None)
        if lines is None:
            self._write(text)
        else:
            lines.append(text)

    def flush(self) -> None:
        """Does nothing: each write is flushed."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """Collects the lines that this thread logs in this block, and passes them on at its end. Those that cannot be
        written are lost. Must not be nested."""
        self._of_thread.lines = []
        try:
            yield
        finally:
            lines, self._of_thread.lines = self._of_thread.lines, None
            for text in _joined(lines):
                with suppress(Exception):  # as when stderr is closed: there is no other place to report that
                    self._write(text)

    def _write(self, text: str) -> None:
        if self._target is not None:
            self._target.write(text)
            self._target.flush()


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """The lines, joined to texts of at most WRITTEN_BYTES. A longer line remains as it is."""
    text, size = "", 0
    for line in lines:
        added = len(line.encode("utf-8", "replace"))
        if text and size + added > WRITTEN_BYTES:
            yield text
            text, size = "", 0
        text, size = text + line, size + added
    if text:
        yield text


stderr: Final = LogStream(sys.stderr)
