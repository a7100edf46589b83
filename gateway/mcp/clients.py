"""The client program of an MCP connection, by the name that it gives itself."""

from typing import Any

from django.conf import settings
from mcp.server import ServerRequestContext

from gateway.mcp.peers import Peer


def client_name(ctx: ServerRequestContext[Any], peer: Peer) -> str:
    """clientInfo.name. Over stateless HTTP, where only the first request has it, the product in User-Agent."""
    params = ctx.session.client_params
    return peer.program if params is None else params.client_info.name


def loads_lazily(ctx: ServerRequestContext[Any], peer: Peer) -> bool:
    """Whether the client reads tool definitions only when it needs them, so that all of them can be listed."""
    lazy: list[str] = settings.LAZY_CLIENTS
    return bool(lazy) and client_name(ctx, peer).lower() in {name.lower() for name in lazy}
