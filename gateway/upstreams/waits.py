"""The time that all requests of one call have waited for rate limits and between attempts."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Waited:
    """The waits of concurrent requests are added up."""

    def __init__(self) -> None:
        self.seconds = 0.0


_of_the_call: ContextVar[Waited | None] = ContextVar("waited", default=None)


@contextmanager
def one_call() -> Iterator[None]:
    """All requests in the block belong to one call."""
    token = _of_the_call.set(Waited())
    try:
        yield
    finally:
        _of_the_call.reset(token)


def waited() -> Waited:
    """The waits of the current call. Outside a call, as in a background task, each request has its own."""
    return _of_the_call.get() or Waited()
