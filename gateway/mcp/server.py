"""The MCP server: one SDK `Server` behind every transport."""

from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any

from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext
from mcp.server.models import InitializationOptions
from pydantic import BaseModel

from context_protection.core.errors import NotAuthenticated
from gateway.mcp import instructions, request_spans
from gateway.mcp.clients import loads_lazily
from gateway.mcp.completion import completion_handlers
from gateway.mcp.connection_watcher import ConnectionWatcher
from gateway.mcp.errors import explained
from gateway.mcp.parameter_headers import marked_schema
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.prompts import prompt_handlers
from gateway.mcp.resources import resource_handlers
from gateway.mcp.tools import tool_handlers, tool_list_of
from gateway.threads.limits import on_thread
from gateway.tracing import spans
from gateway.version import VERSION

# Clients may cache these lists, but not resources: a changed budget applies to the next answer.
CACHED: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
OPENING = frozenset({"initialize", "server/discover"})  # requests whose results have the instructions


class SluiceServer(Server[Any]):
    """Announces that its tool list can change even without options: the SDK's Streamable HTTP manager passes none."""

    announces = True  # whether to announce that the tool list can change
    answers_plain_calls = True  # whether plain tool calls are answered without the SDK's session

    def silent(self) -> "SluiceServer":
        """A copy for transports that cannot notify a client between its requests, without the announcement."""
        server = copy(self)
        server.announces = False
        return server

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=self.announces)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(stdio_peer: Peer | None = None, watcher: ConnectionWatcher | None = None) -> SluiceServer:
    """`stdio_peer`: the caller if the transport carries no credentials. `watcher` notifies clients of a changed tool
    list."""
    server = SluiceServer(
        "sluice",
        title="Sluice",
        version=VERSION,
        instructions=instructions.ANSWERS,  # for a caller without a key; others get theirs from `_instructed`
        cache_hints=dict.fromkeys(CACHED, CacheHint(ttl_ms=5000, scope="private")),
        get_tool_input_schema=marked_schema,
        **tool_handlers(stdio_peer),
        **resource_handlers(stdio_peer),
        **prompt_handlers(stdio_peer),
        **completion_handlers(stdio_peer),
    )
    server.middleware.append(explained)
    server.middleware.append(partial(_instructed, stdio_peer))
    request_spans.trace(server, stdio_peer)
    server.answers_plain_calls = spans.tracer is None  # plain calls skip the SDK's middleware, which creates spans
    if watcher is not None:
        watcher.register(server)
    return server


async def _instructed(
    stdio_peer: Peer | None, ctx: ServerRequestContext[Any], call_next: CallNext
) -> BaseModel | dict[str, Any] | None:
    """Middleware that inserts the instructions for the caller's own tool list."""
    result = await call_next(ctx)
    if ctx.method in OPENING and isinstance(result, dict) and "instructions" in result:
        peer = peer_of(ctx, stdio_peer)
        with suppress(NotAuthenticated):  # the first call reports a rejected key
            listed = await on_thread(peer.limit_key, tool_list_of, peer.caller, loads_lazily(ctx, peer))
            result["instructions"] = listed.instructions
    return result
