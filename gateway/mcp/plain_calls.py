"""Plain tool calls, answered without the SDK's session.

A plain call is a tools/call that requests nothing besides progress: it carries no trace, and its tool never asks the
client a question. The SDK would pass it on unchanged, after validating it with several models. A call that might not be
plain is left to the SDK. Both ways answer with the same bytes.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    CallToolResult,
    InitializeRequestParams,
    RequestId,
)
from mcp_types.methods import validate_client_request
from pydantic import ValidationError

from context_protection.core.budget import dumps
from context_protection.core.errors import CallError
from context_protection.core.payloads import Envelope
from gateway.access.programs import Program
from gateway.catalog.catalog import catalogue
from gateway.dispatch.dispatch import serve
from gateway.mcp.call_tools import CALLING
from gateway.mcp.clients import program_by
from gateway.mcp.peers import Peer
from gateway.mcp.progress import notification, reported
from gateway.mcp.tools import result_of, text_result, tool_call

logger = logging.getLogger(__name__)

TOOLS_CALL = "tools/call"
MESSAGE = frozenset({"jsonrpc", "id", "method", "params"})
PARAMS = frozenset({"name", "arguments", "_meta"})
ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
PROGRESS = "progressToken"
KNOWN_META = frozenset({PROGRESS, "claudecode/toolUseId"})  # Claude Code's id has no effect here
LONGEST_ENVELOPE = 2000  # bytes; the SDK answers calls with a longer one
LONG_NUMBER = re.compile(rb"[0-9]{19}")  # orjson would round it
PLACE = "the text of the answer"
FAILED = {"code": INTERNAL_ERROR, "message": "Internal server error"}


Encode = Callable[[Any], bytes]
Send = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _ToolCall:
    """The tools/call in a message. `meta`: its `_meta`."""

    id: RequestId
    name: str
    arguments: dict[str, Any]
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call that is answered here. `program`: the client's, with the protocol revision of the call. `progress_token`:
    None if the client requests no reports."""

    id: RequestId
    name: str
    arguments: dict[str, Any]
    program: Program
    progress_token: str | int | None


def plain_call(data: bytes, peer: Peer, client: Program | None) -> PlainCall | None:
    """The plain call that a message consists of; None: the SDK answers it. `client`: the client of a connection whose
    handshake is complete; None: each request has an envelope, which names the client."""
    found = _tool_call_in(data)
    if found is None or not _is_plain(found.name, peer):
        return None
    meta = found.meta
    if client is None:
        client = _of_envelope({name: meta[name] for name in meta if name in ENVELOPE}, peer)
        meta = {name: meta[name] for name in meta if name not in ENVELOPE}
    token = meta.get(PROGRESS)
    is_known = meta.keys() <= KNOWN_META and (PROGRESS not in meta or type(token) in (int, str))
    if client is None or not is_known:
        return None
    return PlainCall(found.id, found.name, found.arguments, client, token)


def _tool_call_in(data: bytes) -> _ToolCall | None:
    """The tools/call that a message consists of, if it has no other members."""
    if LONG_NUMBER.search(data):
        return None
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if type(message) is not dict or message.keys() != MESSAGE:
        return None
    if message["jsonrpc"] != "2.0" or message["method"] != TOOLS_CALL:
        return None
    request_id, params = message["id"], message["params"]
    if type(request_id) not in (int, str) or type(params) is not dict or not params.keys() <= PARAMS:
        return None
    name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    if type(name) is not str or type(arguments) is not dict or type(meta) is not dict:
        return None
    return _ToolCall(request_id, name, arguments, meta)


def _is_plain(name: str, peer: Peer) -> bool:
    """Whether the tool is an operation, not call_tool or call_action, and never asks the client anything."""
    operation = None if name in CALLING else catalogue.find(name, peer.caller.tools.hidden)
    return operation is not None and not operation.asks


# -- Envelopes ----------------------------------------------------------------------------------------


def _of_envelope(meta: Mapping[str, Any], peer: Peer) -> Program | None:
    """The client that a request's envelope names (MCP 2026-07-28); None if the envelope is invalid or too long."""
    envelope = orjson.dumps(meta)
    declared = _declared(envelope) if len(envelope) <= LONGEST_ENVELOPE else None
    return None if declared is None else program_by(*declared, peer)


@lru_cache(maxsize=256)
def _declared(envelope: bytes) -> tuple[InitializeRequestParams | None, str] | None:
    """What a valid envelope declares, and its protocol revision. A client repeats its envelope with each request, so
    the SDK's verdict is remembered."""
    params = {"name": "", "arguments": {}, "_meta": orjson.loads(envelope)}
    route = classify_inbound_request({"params": params})
    if isinstance(route, InboundLadderRejection):
        return None
    try:
        validate_client_request(TOOLS_CALL, route.protocol_version, params)
    except ValidationError:
        return None
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    return connection.client_params, route.protocol_version


# -- The answer ---------------------------------------------------------------------------------------


async def response(call: PlainCall, peer: Peer, server: Server[Any], send: Send, encode: Encode = dumps) -> bytes:
    """The JSON-RPC response. `send` sends a message before it, `encode` writes JSON as the transport does."""
    try:
        result = await _result(call, peer, server, send, encode)
    except Exception:
        logger.exception("plain call failed")
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(call.id), encode(FAILED))
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(call.id), result)


async def _result(call: PlainCall, peer: Peer, server: Server[Any], send: Send, encode: Encode) -> bytes:
    protocol = call.program.protocol
    try:
        envelope = await _served(call, peer, send, encode)
    except CallError as error:
        return _written(server, protocol, error.body, True, encode)
    if envelope.native is not None:
        return encode(_serialized(server, protocol, result_of(envelope)))
    return _written(server, protocol, envelope.body, envelope.failure is not None, encode)


async def _served(call: PlainCall, peer: Peer, send: Send, encode: Encode) -> Envelope:
    request = tool_call(call.name, call.arguments, peer, call.program)
    token = call.progress_token
    if token is None:
        return await serve(request)

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await send(encode(notification(token, progress, total, message)))

    async with reported(report, call.name[:80]):
        return await serve(request)


def _written(server: Server[Any], protocol: str, body: bytes, is_error: bool, encode: Encode) -> bytes:
    before, after = _frame_of(server, protocol, is_error, encode)
    return before + encode(body.decode()) + after


@lru_cache(maxsize=64)
def _frame_of(server: Server[Any], protocol: str, is_error: bool, encode: Encode) -> tuple[bytes, bytes]:
    """What the SDK writes around the text of a result."""
    before, after = encode(_serialized(server, protocol, text_result(PLACE, is_error))).split(encode(PLACE))
    return before, after


def _serialized(server: Server[Any], protocol: str, result: CallToolResult) -> dict[str, Any]:
    """The result as the SDK serializes it for this revision."""
    return ServerRunner(server, Connection.from_envelope(protocol, None, None), None)._serialize(
        TOOLS_CALL, protocol, result
    )


def ascii_json(value: Any) -> bytes:
    """JSON as the SDK writes it over Streamable HTTP of MCP 2026-07-28."""
    return json.dumps(value, separators=(",", ":")).encode()
