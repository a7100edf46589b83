"""While a server runs a tool, passes its requests (elicitation, sampling, roots) on to the client of the call."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import mcp.types as types

from gateway.dispatch.asker import Asker, refusal

asker_of_the_call: ContextVar[Asker | None] = ContextVar("asker_of_the_call", default=None)


class RunningCalls:
    """The calls that run on one connection, to find the call that a server's question belongs to."""

    def __init__(self) -> None:
        self._askers: set[Asker] = set()

    @contextmanager
    def running(self, asker: Asker) -> Iterator[None]:
        self._askers.add(asker)
        previous = asker_of_the_call.set(asker)
        try:
            yield
        finally:
            asker_of_the_call.reset(previous)
            self._askers.discard(asker)

    async def answer(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Over HTTP, a question arrives on the stream of its call, and is handled in that call's context. On a pipe,
        nothing shows which call it belongs to: it is answered if all running calls are from the same client."""
        asker = asker_of_the_call.get()
        if asker is not None and asker in self._askers:
            return await asker.answer(request)
        sessions = {each.client.session if each.client else None for each in self._askers}
        if len(sessions) == 1:
            return await next(iter(self._askers)).answer(request)
        if not sessions:
            return refusal("No call is running, so no client can be asked.")
        for each in self._askers:
            each.unclear = True
        return refusal(
            "Calls of several clients are running, and it is not clear which of them this question belongs to."
        )
