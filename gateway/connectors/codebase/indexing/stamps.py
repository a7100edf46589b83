"""Stamps show that a file has not changed since it was read, without reading it again."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

# Time stamps are coarse: a file that was written this recently can be written again with the same stamp. Two seconds is
# the coarsest resolution of file systems in use.
SETTLED = 2_000_000_000  # nanoseconds
UNSETTLED = ""  # the stamp of a file that has to be read again


def stamps_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Path → stamp, for the files that exist. A stamp other than UNSETTLED stays the same until its file changes."""
    prefix, found = f"{root}/", {}
    latest = time.time_ns() - SETTLED
    for path in paths:
        try:
            state = os.lstat(prefix + path)
        except OSError:
            continue
        stamp = f"{state.st_ino}.{state.st_size}.{state.st_ctime_ns}"
        found[path] = stamp if state.st_ctime_ns < latest else UNSETTLED
    return found
