"""How this process takes memory from the system and gives it back."""

import ctypes
import gc

M_ARENA_MAX = -8  # of glibc's mallopt
# Containers, more than were freed, after which the garbage collector runs. Parsing one list makes thousands of them,
# which reference counts free; with Python's 700 the collector looks at each several times meanwhile.
GARBAGE_THRESHOLD = 10_000


def keep_what_is_loaded() -> None:
    """Modules stay for as long as the process: they are not searched for garbage again."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.enable()


def use_one_arena() -> None:
    """glibc would give each thread a heap of its own, which keeps what is free in it: 12 MB after 2,000 calls. Python's
    threads allocate one at a time anyway."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """By itself, glibc returns only the end of its heap. Takes 1 to 4 ms; under load, 30 MB are free again within 20
    seconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
