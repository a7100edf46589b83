"""The time that one call has waited for the rate limits of upstreams, over all of its requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Waited:
    """Concurrent requests of a call count one after another."""

    def __init__(self) -> None:
        self.seconds = 0.0


_of_the_call: ContextVar[Waited | None] = ContextVar("waited", default=None)


@contextmanager
def one_call() -> Iterator[None]:
    """All requests within belong to one call."""
    token = _of_the_call.set(Waited())
    try:
        yield
    finally:
        _of_the_call.reset(token)


def waited() -> Waited:
    """The wait of the current call. Outside a call, as in a background task, each request has its own."""
    return _of_the_call.get() or Waited()
