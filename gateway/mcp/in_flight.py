"""The in-flight requests of one session. Rejects requests beyond a limit, with duplicate ids, or while the server
drains."""

import asyncio
from typing import Any

from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp.types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from context_protection.core.errors import TRANSPORT
from gateway.mcp.sessions import Sessions

MAX_IN_FLIGHT = 256
STREAMS = frozenset({"subscriptions/listen"})  # requests that stay open by design


class InFlight:
    __slots__ = ("_requests", "_sessions")

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        # Id of a request → the task that answers it; None: the SDK answers it.
        self._requests: dict[RequestId, asyncio.Task[None] | None] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def arrived(self, message: JSONRPCMessage) -> ErrorData | None:
        """Records a message from the client. Returns an error for a request that is rejected."""
        if isinstance(message, JSONRPCRequest):
            rejection = self.rejection(message.id)
            if rejection is None and message.method not in STREAMS:
                self._requests[coerce_request_id(message.id)] = None
            return rejection
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            task = self._forgotten((message.params or {}).get("requestId"))
            if task is not None:
                task.cancel()
        return None

    def left(self, message: JSONRPCMessage) -> None:
        """Records a message from the server."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._forgotten(message.id)

    def rejection(self, request_id: RequestId) -> ErrorData | None:
        """The error for a new request of this id, if it is rejected."""
        if self._sessions.draining:
            return ErrorData(code=TRANSPORT, message="The server restarts; connect again and repeat the request.")
        if len(self._requests) >= MAX_IN_FLIGHT:
            message = f"{MAX_IN_FLIGHT} requests of this connection wait to be answered: wait for an answer first."
            return ErrorData(code=TRANSPORT, message=message)
        if coerce_request_id(request_id) in self._requests:
            message = "A request with this id is still running: give each request its own id."
            return ErrorData(code=INVALID_REQUEST, message=message)
        return None

    def begin(self, request_id: RequestId, task: "asyncio.Task[None]") -> None:
        """Records a request that `task` answers. If the client cancels the request, the task is cancelled."""
        key = coerce_request_id(request_id)
        self._requests[key] = task
        task.add_done_callback(lambda _: self._requests.get(key) is task and self._forgotten(key))

    async def cancel(self) -> None:
        """Cancels all tasks, and waits for their end."""
        tasks = [task for task in self._requests.values() if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forgotten(self, raw_id: Any) -> "asyncio.Task[None] | None":
        """Removes a request by its id, and returns its task. As in the SDK, 7 and "7" are the same id."""
        request_id = as_request_id(raw_id)
        return None if request_id is None else self._requests.pop(coerce_request_id(request_id), None)
