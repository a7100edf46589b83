"""MCP over Streamable HTTP at /mcp, routed before Django. It is stateless, so any process can answer any request. With
`MCP_STATEFUL` a session lives in the process that started it."""

import asyncio
import contextvars
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from gateway.access.transports import Transport
from gateway.mcp.admission import admit, not_allowed, send_rejection
from gateway.mcp.exchange import Exchange, WatchedResponse, request_in
from gateway.mcp.invalid_messages import MessageRejected
from gateway.mcp.parameter_headers import request_of
from gateway.mcp.peers import SCOPE_KEY
from gateway.mcp.plain_requests import plain_request
from gateway.mcp.server import SluiceServer
from gateway.mcp.sessions import Sessions
from gateway.process.bodies import replaying


class StreamableHTTP:
    """The endpoint. Each event loop has one session manager, in its own task. The ASGI lifespan starts it or, if the
    ASGI server does not support lifespan, the first request that needs it."""

    def __init__(self, server: SluiceServer, sessions: Sessions, **options: Any) -> None:
        """`options`: for the SDK's session manager (stateless, event_store, retry_interval, …)."""
        self.server = server.silent() if options.get("stateless") else server
        self.sessions = sessions
        self.options = options
        self._managers: dict[asyncio.AbstractEventLoop, _Manager] = {}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        await admit(self._serve, self.sessions, Transport.HTTP, scope, receive, send)

    async def _serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_stateless = self.options.get("stateless", False)
        if is_stateless and scope["method"] != "POST":
            await not_allowed(send, "POST")  # without sessions, there is no stream to open and no session to end
            return
        if scope["method"] == "POST":
            message = await receive()
            if is_stateless and await self._answers_plain_call(message, scope, receive, send):
                return
            try:
                request = request_in(scope, message)
            except MessageRejected as rejected:
                await send_rejection(send, rejected.response)
                return
            if is_stateless and request is not None:
                await Exchange(request, scope, receive, send).serve(self.server)
                return
            receive = replaying(message, receive)
        manager = await self.start()
        with request_of(scope[SCOPE_KEY].caller):
            await manager.handle_request(scope, receive, send)

    async def _answers_plain_call(
        self, message: dict[str, Any], scope: dict[str, Any], receive: Any, send: Any
    ) -> bool:
        """Answers a plain call. Returns whether it was one."""
        plain = plain_request(scope, message) if self.server.answers_plain_calls else None
        if plain is not None:
            response = WatchedResponse(scope, receive, send)
            await response.send_answer(plain.response(self.server, response.send_message))
        return plain is not None

    async def start(self) -> StreamableHTTPSessionManager:
        loop = asyncio.get_running_loop()
        if loop not in self._managers:
            self._managers[loop] = _Manager(StreamableHTTPSessionManager(self.server, **self.options))
        return await self._managers[loop].started()

    async def stop(self) -> None:
        manager = self._managers.pop(asyncio.get_running_loop(), None)
        if manager is not None:
            await manager.stop()


class _Manager:
    """A session manager in its own task, because a task group must end in the task that started it."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._run(), context=contextvars.Context())

    async def _run(self) -> None:
        async with self.manager.run():
            self._ready.set()
            await self._stop.wait()

    async def started(self) -> StreamableHTTPSessionManager:
        ready = asyncio.ensure_future(self._ready.wait())
        await asyncio.wait([ready, self._task], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            ready.cancel()
            self._task.result()  # raises the error
        return self.manager

    async def stop(self) -> None:
        self._stop.set()
        await self._task
