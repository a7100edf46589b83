"""MCP over Streamable HTTP at /mcp, routed before Django; stateless, so that any process answers any request, unless
`MCP_STATEFUL` is set: then a session lives in the process that began it."""

import asyncio
import contextvars
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from context_protection.errors import CallError
from gateway.mcp.handshake import Handshake, refusal
from gateway.mcp.peers import SCOPE_KEY, Peer
from gateway.mcp.server import SluiceServer


class StreamableHTTP:
    """The endpoint. Its session manager lives in a task of its own, one per event loop: started by the first
    request or by the process's lifespan, whichever comes first (not every ASGI server has a lifespan)."""

    def __init__(self, server: SluiceServer, **options: Any) -> None:
        """`options` are the SDK's session manager's: stateless, event_store, retry_interval, …"""
        self.server = server
        self.options = options
        self._managers: dict[asyncio.AbstractEventLoop, _Manager] = {}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        try:
            caller = await Handshake.of(scope).caller()
        except CallError as error:
            await _refuse(send, error)
            return
        manager = await self.start()
        token = AccessToken(token=caller.id, client_id=caller.id, scopes=[])  # binds a session to its caller
        scope = {**scope, SCOPE_KEY: Peer(caller, "http"), "user": AuthenticatedUser(token)}
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        await manager.handle_request(scope, receive, send)

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
    """A session manager running in its own task, because its task group must end where it began."""

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
            self._task.result()  # what went wrong
        return self.manager

    async def stop(self) -> None:
        self._stop.set()
        await self._task


async def _refuse(send: Any, error: CallError) -> None:
    status, headers, body = refusal(error)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
