"""The client program of an MCP connection, by its own word."""

from typing import Any

from django.conf import settings
from mcp.server import ServerRequestContext

from gateway.access.programs import Program, program
from gateway.mcp.peers import Peer


def program_of(ctx: ServerRequestContext[Any], peer: Peer) -> Program:
    """The program of clientInfo. Over stateless HTTP, where only the first request has it, the one of User-Agent."""
    params = ctx.session.client_params
    protocol = ctx.protocol_version or ""
    if params is None:
        return program(peer.program.name, peer.program.version, protocol)
    return program(params.client_info.name, params.client_info.version, protocol)


def loads_lazily(ctx: ServerRequestContext[Any], peer: Peer) -> bool:
    """Whether the client reads tool definitions only when it needs them, so that all of them can be listed."""
    lazy: list[str] = settings.LAZY_CLIENTS
    return bool(lazy) and program_of(ctx, peer).name.lower() in {name.lower() for name in lazy}
