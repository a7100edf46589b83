"""One connection to a server, owned by a task of its own: what the SDK enters must be left by the same task."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import mcp.types as types
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from pydantic import TypeAdapter, ValidationError

from gateway.connectors.mcp_servers import addresses, errors, processes
from gateway.connectors.mcp_servers.configuration import Command, Server
from gateway.connectors.mcp_servers.rate_limit import paced
from gateway.connectors.mcp_servers.tool_list import listed
from gateway.connectors.mcp_servers.wire import NO_TOKEN, NOT_CONNECTED_TO, NOT_LET_IN
from gateway.upstreams.errors import UpstreamError
from gateway.version import VERSION

CONNECT_SECONDS = 30.0
CLOSE_SECONDS = 10.0
TOLD = frozenset({NOT_CONNECTED_TO, NOT_LET_IN, NO_TOKEN})  # why a connection was not made
RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)

logger = logging.getLogger(__name__)


class Connection:
    """Opens at once; `client` waits until it is open. `changed` is called when the server says that its tools have."""

    def __init__(self, server: Server, transports: addresses.Transports, changed: Callable[[], None]) -> None:
        self.server, self._transports, self._changed = server, transports, changed
        self.failure: UpstreamError = errors.unavailable(server, 1)  # why it was not made
        self._ended = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own())

    @property
    def is_over(self) -> bool:
        return self._ended.is_set() or self._owner.done()

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None = None
    ) -> types.CallToolResult:
        """`progress` is told how far it is; without it, the server is not asked to say. Cancelling it cancels the
        request. Raises MCPError, ValidationError, UpstreamError."""
        client = await self._open()
        try:
            return await self._called(client, tool, arguments, progress)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
        await self.tools()  # the specification's way out: the tool's schema, which says what headers it wants, is old
        return await self._called(client, tool, arguments, progress)

    async def _called(
        self, client: Client, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None
    ) -> types.CallToolResult:
        # Not by `client.call_tool`: it refuses a result that breaks the schema that the server itself has declared.
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        result = await client.session.send_request(
            types.CallToolRequest(params=params), RESULT, progress_callback=progress
        )
        if isinstance(result, types.InputRequiredResult):
            raise errors.asks_back(self.server)
        return result

    async def tools(self) -> list[types.Tool]:
        """All pages. Raises MCPError, ValidationError, UpstreamError."""
        return await listed(await self._open(), self.server)

    async def close(self) -> None:
        """Returns when nothing of it is left."""
        self._ended.set()
        if not self._client.done():
            self._owner.cancel()
        _, late = await asyncio.wait([self._owner], timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()

    # -- The owner ----------------------------------------------------------------------------------

    async def _open(self) -> Client:
        return await asyncio.shield(self._client)

    async def _own(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(CONNECT_SECONDS):
                    client = await stack.enter_async_context(self._new_client())
                self._client.set_result(client)
                listening = asyncio.create_task(self._listen(client))
                try:
                    await self._ended.wait()
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
        except Exception as error:
            cause = _first_cause(error)
            if isinstance(cause, MCPError) and cause.code in TOLD:
                self.failure = errors.refused(self.server, cause)
            logger.warning(
                "MCP server not connected", extra={"server": self.server.name, "error": type(cause).__name__}
            )
        finally:
            self._ended.set()
            if not self._client.done():
                self._client.set_exception(self.failure)
                self._client.exception()  # perhaps nobody waits for it

    def _new_client(self) -> Client:
        info = types.Implementation(name="sluice", version=VERSION)
        return Client(paced(self._streams()), cache=None, client_info=info, message_handler=self._heard)

    def _streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        if isinstance(self.server, Command):
            return processes.started(self.server, self._ended.set)
        return addresses.connected(self.server, self._transports)

    # -- What the server says by itself -------------------------------------------------------------

    async def _heard(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def _listen(self, client: Client) -> None:
        """Of servers of 2026 on; those before say it unasked."""
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    pass  # `_heard` hears each of them too
        except (ListenNotSupportedError, SubscriptionLost, MCPError, ValidationError) as error:
            logger.debug("MCP server tells no changes", extra={"server": self.server.name, "error": str(error)})


def _first_cause(error: BaseException) -> BaseException:
    """Of which only the kind is logged: what it says may hold what nobody should read."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
