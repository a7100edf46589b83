"""Who is at the other end of an MCP connection, as its transport has authenticated them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from mcp.server import ServerRequestContext

from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import Caller

SCOPE_KEY = "sluice.peer"


@dataclass(frozen=True, slots=True)
class Peer:
    caller: Caller
    door: str  # websocket | http | sse | stdio
    session: Hashable = None  # of a connection that carries many calls; None: a connection of this one request

    @property
    def lane(self) -> Hashable:
        """Whose calls wait for each other where threads are few."""
        return self.session or self.caller.id


def peer_of(ctx: ServerRequestContext[Any], stdio_peer: Peer | None) -> Peer:
    """The peer that the transport put into the request, or the one at the other end of stdio."""
    request = ctx.request
    if isinstance(request, Peer):
        return request
    if request is not None:
        peer: Peer = request.scope[SCOPE_KEY]
        return peer
    if stdio_peer is None:
        raise NotAuthenticated("The transport carries no credentials.", reason="not_authenticated")
    return stdio_peer
