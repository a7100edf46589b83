"""MCP over HTTP with server-sent events, the transport of 2024-11-05: a stream at /mcp/sse, messages to
/mcp/sse/messages. Kept for clients that know nothing newer; a session lives in the process that holds its stream."""

from typing import Any

from mcp.server import Server
from mcp.server.sse import SseServerTransport

from gateway.mcp.admission import admit
from gateway.mcp.sessions import Sessions

MESSAGES = "/mcp/sse/messages"


class LegacySSE:
    def __init__(self, server: Server[Any], sessions: Sessions) -> None:
        self.server = server
        self.sessions = sessions
        self.transport = SseServerTransport(MESSAGES)

    async def stream(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """GET: opens a session, whose answers come on this stream."""
        await admit(self._serve, self.sessions, "sse", scope, receive, send)

    async def messages(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """POST: a message to a session, of the same caller."""
        await admit(self.transport.handle_post_message, self.sessions, "sse", scope, receive, send)

    async def _serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["method"] != "GET":
            headers = [(b"allow", b"GET"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 405, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        async with self.transport.connect_sse(scope, receive, send) as (incoming, outgoing):
            await self.server.run(incoming, outgoing, self.server.create_initialization_options())
