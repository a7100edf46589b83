"""The authenticated client of an MCP connection."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from mcp.server import ServerRequestContext

from context_protection.core.errors import NotAuthenticated
from gateway.access.programs import UNKNOWN, Program
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.tracing import identity

SCOPE_KEY = "sluice.peer"


@dataclass(frozen=True, slots=True)
class Peer:
    caller: Caller
    transport: Transport
    program: Program = UNKNOWN  # from an HTTP client's User-Agent
    session: Hashable = None  # identifies a connection that carries many calls; None: it carries one request

    @property
    def call_id(self) -> str:
        """The id for a new call: that of the HTTP request which carries it, or a new one if the connection carries many
        calls."""
        return identity.current_or_new_id() if self.session is None else identity.new_id()

    @property
    def limit_key(self) -> Hashable:
        """The key of the concurrency limit: calls with the same key wait for each other when threads are scarce."""
        return self.session or self.caller.id


def peer_of(ctx: ServerRequestContext[Any], stdio_peer: Peer | None) -> Peer:
    """The peer that the transport stored in the request, or the stdio client."""
    request = ctx.request
    if isinstance(request, Peer):
        return request
    if request is not None:
        peer: Peer = request.scope[SCOPE_KEY]
        return peer
    if stdio_peer is None:
        raise NotAuthenticated("The transport carries no credentials.", reason="not_authenticated")
    return stdio_peer
