"""One connection to a server, owned by its own task: the task that enters the SDK's contexts must also leave them."""

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
TOLD = frozenset({NOT_CONNECTED_TO, NOT_LET_IN, NO_TOKEN})  # codes whose error callers see when connecting fails
RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)

logger = logging.getLogger(__name__)


class Connection:
    """Connects at once; requests wait until it is open. `changed` is called when the server announces that its tools
    have changed."""

    def __init__(self, server: Server, transports: addresses.Transports, changed: Callable[[], None]) -> None:
        self.server, self._transports, self._changed = server, transports, changed
        self.failure: UpstreamError = errors.unavailable(server, 1)  # raised to waiting requests if connecting fails
        self._ended = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._run())

    @property
    def is_over(self) -> bool:
        return self._ended.is_set() or self._owner.done()

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None = None
    ) -> types.CallToolResult:
        """`progress` is called with each progress notification; without it, none are requested. Cancelling the call
        cancels the request. Raises MCPError, ValidationError, UpstreamError."""
        client = await self._open()
        try:
            return await self._called(client, tool, arguments, progress)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
        await self.tools()  # as specified: our copy of the tool's schema, which names the headers, is outdated
        return await self._called(client, tool, arguments, progress)

    async def _called(
        self, client: Client, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None
    ) -> types.CallToolResult:
        # `client.call_tool` would reject a result that breaks the server's own output schema.
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
        """Closes the connection, and cancels its task if that takes longer than CLOSE_SECONDS."""
        self._ended.set()
        if not self._client.done():
            self._owner.cancel()
        _, late = await asyncio.wait([self._owner], timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()

    # -- The owner ----------------------------------------------------------------------------------

    async def _open(self) -> Client:
        return await asyncio.shield(self._client)

    async def _run(self) -> None:
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
                self._client.exception()  # marks it as retrieved, as perhaps no request waits for it

    def _new_client(self) -> Client:
        info = types.Implementation(name="sluice", version=VERSION)
        return Client(paced(self._streams()), cache=None, client_info=info, message_handler=self._on_message)

    def _streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        if isinstance(self.server, Command):
            return processes.started(self.server, self._ended.set)
        return addresses.connected(self.server, self._transports)

    # -- Notifications of the server ----------------------------------------------------------------

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def _listen(self, client: Client) -> None:
        """Subscribes to changes, as the specification of 2026 has it. Servers before it announce them unasked."""
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    pass  # `_on_message` gets each of them too
        except (ListenNotSupportedError, SubscriptionLost, MCPError, ValidationError) as error:
            logger.debug("MCP server tells no changes", extra={"server": self.server.name, "error": str(error)})


def _first_cause(error: BaseException) -> BaseException:
    """The first exception in nested groups. Only its type may be logged: its message may hold secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
