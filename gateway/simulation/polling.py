"""Waits for a server in another process."""

import time
from collections.abc import Callable

LOOK_SECONDS = 0.2


def until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Polls until `is_so` returns true; False if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True
