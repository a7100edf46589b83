"""Routes each request of a session to the worker that has the session. The worker's number is part of the session's id
over Streamable HTTP, and of the path to which a client of server-sent events posts.

WebSockets, and requests without a session, are served by whichever worker has their connection.
"""

import re
from typing import Any

from gateway.process import place
from gateway.workers.relay import WorkerGone, relay

STREAMABLE_HTTP, SESSION_ID = "/mcp", b"mcp-session-id"
NUMBERED = re.compile(rb"([1-9][0-9]{0,3})-(.*)", re.DOTALL)  # the parent, number 0, has no sessions
MESSAGES = re.compile(r"/mcp/sse/messages/([1-9][0-9]{0,3})/?")


class SessionRouting:
    """Wraps the ASGI application that serves HTTP requests and knows session ids without a number. `is_stateful`:
    whether Streamable HTTP has sessions."""

    def __init__(self, application: Any, *, is_stateful: bool) -> None:
        self._application, self._is_stateful = application, is_stateful

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        owner = self._owner(scope)
        if owner is not None and owner != place.number():
            try:
                await relay(owner, scope, receive, send)
                return
            except WorkerGone:
                pass  # the worker's sessions are lost too, which the application reports
        await self.serve(scope, receive, send)

    async def serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serves a request in this process."""
        if not self._may_have_session(scope):
            await self._application(scope, receive, send)
            return

        async def send_numbered(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [_numbered(*each) for each in message.get("headers", ())]}
            await send(message)

        headers = [_plain(*each) for each in scope["headers"]]
        await self._application({**scope, "headers": headers}, receive, send_numbered)

    def _owner(self, scope: dict[str, Any]) -> int | None:
        """The number of the worker whose session a request names."""
        if self._may_have_session(scope):
            found = (NUMBERED.fullmatch(value) for name, value in scope["headers"] if name == SESSION_ID)
            return next((int(each[1]) for each in found if each), None)
        of_events = MESSAGES.fullmatch(scope["path"])
        return int(of_events[1]) if of_events else None

    def _may_have_session(self, scope: dict[str, Any]) -> bool:
        return self._is_stateful and scope["path"].rstrip("/") == STREAMABLE_HTTP


def _plain(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    numbered = NUMBERED.fullmatch(value) if name == SESSION_ID else None
    return (name, numbered[2]) if numbered else (name, value)


def _numbered(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return (name, b"%d-%b" % (place.number(), value)) if name.lower() == SESSION_ID else (name, value)
