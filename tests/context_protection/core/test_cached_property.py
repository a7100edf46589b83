"""A value is computed once for an object, and nobody waits for that of another."""

import threading

from context_protection.core.cached_property import cached_property
from tests.patience import PATIENCE


class Waiting:
    def __init__(self, may_end: threading.Event) -> None:
        self.may_end = may_end
        self.begun = threading.Event()
        self.times = 0

    @cached_property
    def value(self) -> int:
        """What it says."""
        self.begun.set()
        self.times += 1
        assert self.may_end.wait(PATIENCE)
        return self.times


def test_a_value_is_computed_once():
    ended = threading.Event()
    ended.set()
    waiting = Waiting(ended)
    assert (waiting.value, waiting.value, waiting.times) == (1, 1, 1)
    assert Waiting.value.__doc__ == "What it says."


def test_one_that_takes_long_holds_up_no_other_object():
    ended, not_yet = threading.Event(), threading.Event()
    ended.set()
    slow = Waiting(not_yet)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(PATIENCE)
    other = Waiting(ended)
    quick = threading.Thread(target=lambda: other.value, daemon=True)
    quick.start()
    quick.join(5)
    try:
        assert not quick.is_alive(), "it waits for the slow one"
    finally:
        not_yet.set()
        thread.join()
