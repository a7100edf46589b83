"""Plain tool calls over stateless Streamable HTTP: the headers that such a request has."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    decode_header_value,
)
from mcp.types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from context_protection.core.budget import dumps
from gateway.access.programs import program
from gateway.mcp.parameter_headers import is_marked
from gateway.mcp.peers import SCOPE_KEY, Peer
from gateway.mcp.plain_calls import TOOLS_CALL, Encode, PlainCall, Send, ascii_json, plain_call, response

VERSION, METHOD, NAME = (name.encode() for name in (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER))
DEFAULT_VERSION = DEFAULT_NEGOTIATED_VERSION.encode()
JSON = b"application/json"
LONGEST_ACCEPT = 500  # bytes; the SDK answers requests with a longer header


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """`encode`: writes JSON as the SDK does for this revision."""

    call: PlainCall
    peer: Peer
    encode: Encode

    async def response(self, server: Server[Any], send: Send) -> bytes:
        """`send` sends a message before the response."""
        return await response(self.call, self.peer, server, send, self.encode)


def plain_request(scope: dict[str, Any], message: dict[str, Any]) -> PlainRequest | None:
    """The plain call in a request; `message` holds its whole body. None: the SDK answers it."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if scope["method"] != "POST" or message["type"] != "http.request" or len(headers) != len(scope["headers"]):
        return None
    accepted = headers.get(b"accept", b"")
    if headers.get(b"content-type") != JSON or len(accepted) > LONGEST_ACCEPT or not _accepts_both(accepted):
        return None
    version = headers.get(VERSION, DEFAULT_VERSION).decode("latin-1")
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return _with_handshake(version, message["body"], scope[SCOPE_KEY])
    if version in MODERN_PROTOCOL_VERSIONS:
        return _with_envelope(version, headers, message["body"], scope[SCOPE_KEY])
    return None


def _with_handshake(version: str, body: bytes, peer: Peer) -> PlainRequest | None:
    call = plain_call(body, peer, program(peer.program.name, peer.program.version, version))
    return None if call is None else PlainRequest(call, peer, dumps)


def _with_envelope(version: str, headers: Mapping[bytes, bytes], body: bytes, peer: Peer) -> PlainRequest | None:
    """A plain call of MCP 2026-07-28, whose headers repeat the method and the tool's name."""
    if headers.get(METHOD) != TOOLS_CALL.encode():
        return None
    call = plain_call(body, peer, None)
    if call is None or call.program.protocol != version or is_marked(call.name, peer.caller):
        return None
    named = decode_header_value(headers.get(NAME, b"").decode("latin-1"))
    return PlainRequest(call, peer, ascii_json) if named == call.name else None


@lru_cache(maxsize=256)
def _accepts_both(accepted: bytes) -> bool:
    """Whether the client accepts both JSON and event streams."""
    return all(check_accept_headers(Request({"type": "http", "headers": [(b"accept", accepted)]})))
