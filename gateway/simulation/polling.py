"""Waiting for a server that is another process."""

import time
from collections.abc import Callable

LOOK_SECONDS = 0.2


def until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether it became so within the time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True
