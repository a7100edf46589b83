"""Password hashes, computed on one thread that gives way to all others of the process."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher

NICENESS = 5  # a third of the processor time of a thread that answers calls, where both want it


class YieldingHasher(PBKDF2PasswordHasher):
    """Django's own hasher, and its very hashes."""

    def encode(self, *args: Any, **kwargs: Any) -> str:
        return _thread().submit(partial(super().encode, *args, **kwargs)).result()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="hashing", initializer=_give_way)


def _give_way() -> None:
    if sys.platform == "linux":  # where a thread has a priority of its own
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
