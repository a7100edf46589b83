"""Hashes passwords on a single low-priority thread."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher

NICENESS = 5  # under load, gives this thread a third of the CPU time of a thread that answers calls


class YieldingHasher(PBKDF2PasswordHasher):
    """Django's hasher, run on another thread; the hashes are the same."""

    def encode(self, *args: Any, **kwargs: Any) -> str:
        return _thread().submit(partial(super().encode, *args, **kwargs)).result()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="hashing", initializer=_lower_priority)


def _lower_priority() -> None:
    if sys.platform == "linux":  # only Linux has per-thread priorities
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
