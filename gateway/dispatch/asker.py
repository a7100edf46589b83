"""Sends a connector's questions to the MCP client of the call: elicitation (input), sampling (a model's answer),
roots."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import mcp.types as types
from mcp import MCPError
from pydantic import ValidationError

from gateway.dispatch.client import Client, client, time_limit, time_stopped

PATIENCE = 240.0  # seconds for the answer; a connection to an MCP server ends after 300 seconds without a message
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_RESULTS: dict[str, tuple[type[Any], ...]] = {
    "elicitation/create": (types.ElicitResult,),
    "sampling/createMessage": (types.CreateMessageResult, types.CreateMessageResultWithTools),
    "roots/list": (types.ListRootsResult,),
}


@dataclass(eq=False)
class Asker:
    """Asks the client of one call. `limit`: the call's time limit, which is paused while the client answers. `lacking`:
    a capability that a question needed and the client does not have. `unclear`: whether a question arrived that might
    belong to this call or to another one."""

    client: Client | None
    loop: asyncio.AbstractEventLoop
    limit: asyncio.Timeout | None = None
    lacking: str = field(default="", init=False)
    unclear: bool = field(default=False, init=False)

    @classmethod
    def of_this_call(cls) -> "Asker":
        return cls(client.get(), asyncio.get_running_loop(), time_limit.get())

    @classmethod
    def within_the_time_of_this_call(cls) -> "Asker":
        return cls(client.get(), asyncio.get_running_loop())

    async def answer(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The client's answer; ErrorData if the client refuses, cannot answer or takes too long. Can be awaited on any
        event loop."""
        asking = asyncio.run_coroutine_threadsafe(self._asked(request), self.loop)
        return await asyncio.wrap_future(asking)

    async def _asked(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        document = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        method, params = request.method, document.get("params") or {}
        if self.client is None or self.client.lacks(method, params):
            self.lacking = CAPABILITIES[method]
            return refusal(f"The client has no way to answer {method}.")
        try:
            with time_stopped(self.limit):
                async with asyncio.timeout(PATIENCE):
                    return _result(method, await self.client.ask(method, params))
        except TimeoutError:
            return refusal(f"The client has not answered {method} in time.")
        except MCPError as error:
            return error.error
        except ValidationError:
            return refusal(f"The client's answer to {method} is not valid.")


def refusal(message: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)


def _result(method: str, answer: dict[str, Any]) -> types.InputResponse:
    *first, last = _RESULTS[method]
    for kind in first:
        with suppress(ValidationError):
            return cast(types.InputResponse, kind.model_validate(answer, by_name=False))
    return cast(types.InputResponse, last.model_validate(answer, by_name=False))
