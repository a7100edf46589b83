"""The client program of an MCP connection, as the client declares it."""

from typing import Any

from django.conf import settings
from mcp.server import ServerRequestContext
from mcp.types import InitializeRequestParams

from gateway.access.programs import Program, program
from gateway.mcp.peers import Peer


def program_of(ctx: ServerRequestContext[Any], peer: Peer) -> Program:
    """The program that clientInfo names. Over stateless HTTP, where only the first request has clientInfo, the program
    that User-Agent names."""
    return program_by(ctx.session.client_params, ctx.protocol_version or "", peer)


def program_by(declared: InitializeRequestParams | None, protocol: str, peer: Peer) -> Program:
    """The program that a client has declared, or else the one that the connection names."""
    if declared is None:
        return program(peer.program.name, peer.program.version, protocol)
    return program(declared.client_info.name, declared.client_info.version, protocol)


def loads_lazily(ctx: ServerRequestContext[Any], peer: Peer) -> bool:
    """Whether the client reads tool definitions only when it needs them, so that all of them can be listed."""
    return is_lazy(program_of(ctx, peer))


def is_lazy(client: Program) -> bool:
    """See `loads_lazily`."""
    lazy: list[str] = settings.LAZY_CLIENTS
    return bool(lazy) and client.name.lower() in {name.lower() for name in lazy}
