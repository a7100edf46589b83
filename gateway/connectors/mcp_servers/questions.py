"""Passes a server's requests on to the client of the call (elicitation, sampling, roots) while it runs a tool."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

import mcp.types as types
from mcp import MCPError
from pydantic import ValidationError

from gateway.dispatch.client import Client, client, time_limit, time_stopped

PATIENCE = 240.0  # seconds for an answer; connections to servers end after 300 seconds without a message
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_RESULTS: dict[str, tuple[type[Any], ...]] = {
    "elicitation/create": (types.ElicitResult,),
    "sampling/createMessage": (types.CreateMessageResult, types.CreateMessageResultWithTools),
    "roots/list": (types.ListRootsResult,),
}


@dataclass(eq=False)
class Asker:
    """Asks the client of one call. `lacking`: the capability that a question needed and the client does not have;
    `unclear`: whether a question could not be assigned to this call or another."""

    client: Client | None
    loop: asyncio.AbstractEventLoop
    limit: asyncio.Timeout | None = None
    lacking: str = field(default="", init=False)
    unclear: bool = field(default=False, init=False)

    @classmethod
    def of_this_call(cls) -> "Asker":
        return cls(client.get(), asyncio.get_running_loop(), time_limit.get())

    async def answer(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The client's answer, on any loop."""
        asking = asyncio.run_coroutine_threadsafe(self._asked(request), self.loop)
        return await asyncio.wrap_future(asking)

    async def _asked(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        document = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        method, params = request.method, document.get("params") or {}
        if self.client is None or self.client.lacks(method, params):
            self.lacking = CAPABILITIES[method]
            return _refusal(f"The client has no way to answer {method}.")
        try:
            with time_stopped(self.limit):
                async with asyncio.timeout(PATIENCE):
                    return _result(method, await self.client.ask(method, params))
        except TimeoutError:
            return _refusal(f"The client has not answered {method} in time.")
        except MCPError as error:
            return error.error
        except ValidationError:
            return _refusal(f"The client's answer to {method} is not valid.")


def _result(method: str, answer: dict[str, Any]) -> types.InputResponse:
    *first, last = _RESULTS[method]
    for kind in first:
        with suppress(ValidationError):
            return cast(types.InputResponse, kind.model_validate(answer, by_name=False))
    return cast(types.InputResponse, last.model_validate(answer, by_name=False))


def _refusal(message: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)


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
        """Over HTTP, a question comes on the stream of its call, whose context it has. On a pipe nothing says which
        call it belongs to: it is answered if all calls that run are of one client."""
        asker = asker_of_the_call.get()
        if asker is not None and asker in self._askers:
            return await asker.answer(request)
        sessions = {each.client.session if each.client else None for each in self._askers}
        if len(sessions) == 1:
            return await next(iter(self._askers)).answer(request)
        if not sessions:
            return _refusal("No call runs, so no client can be asked.")
        for each in self._askers:
            each.unclear = True
        return _refusal("Calls of several clients run, and it is not clear which of them this belongs to.")
