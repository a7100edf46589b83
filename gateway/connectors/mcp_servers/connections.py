"""One connection to a server, owned by its own task: the task that enters the SDK's contexts must also exit them."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import mcp.types as types
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from pydantic import TypeAdapter, ValidationError

from gateway.connectors.mcp_servers import errors, processes, streamable_http
from gateway.connectors.mcp_servers.configuration import Server, StdioServer
from gateway.connectors.mcp_servers.questions import RunningCalls
from gateway.connectors.mcp_servers.rate_limit import rate_limited
from gateway.connectors.mcp_servers.readable import readable
from gateway.connectors.mcp_servers.tool_list import listed
from gateway.connectors.mcp_servers.wire import ADDRESS_REFUSED, BUSY, CREDENTIALS_REJECTED, TOKEN_UNAVAILABLE
from gateway.dispatch.asker import Asker
from gateway.upstreams.errors import UpstreamError
from gateway.version import VERSION

CONNECT_SECONDS = 30.0
CLOSE_SECONDS = 10.0
MAX_ROUNDS = 10  # rounds of questions before a result
EXPLAINED_CODES = frozenset(
    {ADDRESS_REFUSED, BUSY, CREDENTIALS_REJECTED, TOKEN_UNAVAILABLE}
)  # codes whose error is returned to callers when connecting fails
UNSUPPORTED_REVISION = "Unsupported protocol version"  # the wording of the SDK's RuntimeError
RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)

logger = logging.getLogger(__name__)


class McpConnection:
    """Connects at once; requests wait until it is open. `changed` is called when the server announces that its tools
    have changed."""

    def __init__(
        self,
        server: Server,
        transports: streamable_http.Transports,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server, self._transports, self._changed, self._clock = server, transports, changed, clock
        self.ended_at: float | None = None  # by the clock; None while the connection is open or being closed
        self.failure: UpstreamError = errors.unavailable(server, 1)  # raised to waiting requests if connecting fails
        self._calls = RunningCalls()
        self._ended = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._run())

    @property
    def is_over(self) -> bool:
        return self._ended.is_set() or self._owner.done()

    async def call(
        self, tool: str, arguments: dict[str, Any], asker: Asker, progress: ProgressFnT | None = None
    ) -> types.CallToolResult:
        """`progress` is called with each progress notification; without it, none are requested. `asker` answers the
        server's questions during the call. Cancelling the call cancels the request. Raises MCPError, ValidationError,
        UpstreamError."""
        client = await self._open()
        with self._calls.running(asker):
            params = types.CallToolRequestParams(name=tool, arguments=arguments)
            for _ in range(MAX_ROUNDS + 1):
                result = await self._requested(client, params, progress)
                if not isinstance(result, types.InputRequiredResult):
                    return result
                answers = {key: await _answered(asker, each) for key, each in (result.input_requests or {}).items()}
                params = types.CallToolRequestParams(
                    name=tool,
                    arguments=arguments,
                    input_responses=answers or None,
                    request_state=result.request_state,
                )
        raise errors.asks_without_end(self.server)

    async def _requested(
        self, client: Client, params: types.CallToolRequestParams, progress: ProgressFnT | None
    ) -> types.CallToolResult | types.InputRequiredResult:
        # `client.call_tool` would reject a result that breaks the server's own output schema.
        request = types.CallToolRequest(params=params)
        try:
            return await client.session.send_request(request, RESULT, progress_callback=progress)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
        await self.tools()  # our copy of the tool's schema, which names the headers, is outdated (MCP)
        return await client.session.send_request(request, RESULT, progress_callback=progress)

    async def tools(self) -> list[types.Tool]:
        """The tools of all pages. Raises MCPError, ValidationError, UpstreamError."""
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
            if isinstance(cause, MCPError) and cause.code in EXPLAINED_CODES:
                self.failure = errors.refused(self.server, cause)
            elif isinstance(cause, ValidationError) or UNSUPPORTED_REVISION in str(cause):
                self.failure = errors.no_handshake(self.server)
            logger.warning(
                "MCP server not connected", extra={"server": self.server.name, "error": type(cause).__name__}
            )
        finally:
            self.ended_at = self._clock()
            self._ended.set()
            if not self._client.done():
                self._client.set_exception(self.failure)
                self._client.exception()  # marks it as retrieved, in case no request waits for it

    def _new_client(self) -> Client:
        info = types.Implementation(name="sluice", version=VERSION)
        return Client(
            readable(rate_limited(self._streams())),
            cache=None,
            client_info=info,
            message_handler=self._on_message,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample,
            list_roots_callback=self._list_roots,
        )

    def _streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        if isinstance(self.server, StdioServer):
            return processes.started(self.server, self._ended.set)
        return streamable_http.connected(self.server, self._transports)

    # -- Questions and notifications of the server --------------------------------------------------

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> Any:
        return await self._calls.answer(types.ElicitRequest(params=params))

    async def _sample(self, context: Any, params: types.CreateMessageRequestParams) -> Any:
        return await self._calls.answer(types.CreateMessageRequest(params=params))

    async def _list_roots(self, context: Any) -> Any:
        return await self._calls.answer(types.ListRootsRequest())

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def _listen(self, client: Client) -> None:
        """Subscribes to changes, as the 2026 specification requires. Older servers announce them without a
        subscription."""
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    pass  # `_on_message` also receives each of them
        except (ListenNotSupportedError, SubscriptionLost, MCPError, ValidationError) as error:
            logger.debug("MCP server announces no changes", extra={"server": self.server.name, "error": str(error)})


async def _answered(asker: Asker, request: types.InputRequest) -> types.InputResponse:
    """Raises MCPError if there is no answer."""
    answer = await asker.answer(request)
    if isinstance(answer, types.ErrorData):
        raise MCPError.from_error_data(answer)
    return answer


def _first_cause(error: BaseException) -> BaseException:
    """The first exception in nested groups. Only its type may be logged: its message may hold secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
