"""The in-flight requests of one session. Rejects too many, duplicate ids, and new requests while the server drains."""

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
    __slots__ = ("_ids", "_sessions")

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._ids: set[RequestId] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def arrived(self, message: JSONRPCMessage) -> ErrorData | None:
        """Records a message from the client. Returns an error for a request that is rejected."""
        if isinstance(message, JSONRPCRequest):
            rejection = self._rejection(message)
            if rejection is None and message.method not in STREAMS:
                self._ids.add(coerce_request_id(message.id))
            return rejection
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))
        return None

    def left(self, message: JSONRPCMessage) -> None:
        """Records a message from the server."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._forget(message.id)

    def _rejection(self, request: JSONRPCRequest) -> ErrorData | None:
        if self._sessions.draining:
            return ErrorData(code=TRANSPORT, message="The server restarts; connect again and repeat the request.")
        if len(self._ids) >= MAX_IN_FLIGHT:
            message = f"{MAX_IN_FLIGHT} requests of this connection wait to be answered: wait for an answer first."
            return ErrorData(code=TRANSPORT, message=message)
        if coerce_request_id(request.id) in self._ids:
            message = "A request with this id is still running: give each request its own id."
            return ErrorData(code=INVALID_REQUEST, message=message)
        return None

    def _forget(self, raw_id: Any) -> None:
        """Removes a request by its id. As in the SDK, 7 and "7" are the same id."""
        request_id = as_request_id(raw_id)
        if request_id is not None:
            self._ids.discard(coerce_request_id(request_id))
