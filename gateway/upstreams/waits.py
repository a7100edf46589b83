"""The time that all requests of one call have waited for rate limits and between attempts."""

from contextvars import ContextVar

from context_protection.core.context_value import ContextValue


class Waited:
    """The waits of concurrent requests are added up."""

    def __init__(self) -> None:
        self.seconds = 0.0


_of_the_call: ContextVar[Waited | None] = ContextVar("waited", default=None)


def one_call() -> ContextValue[Waited]:
    """All requests in the block belong to one call."""
    return ContextValue(_of_the_call, Waited())


def waited() -> Waited:
    """The waits of the current call. Outside a call, as in a background task, each request has its own."""
    return _of_the_call.get() or Waited()
