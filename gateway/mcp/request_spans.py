"""Adds the session, the transport and a link to the HTTP request to the spans of MCP's SDK, and records the histogram
of durations. Both middlewares, the SDK's and this one, exist only while OpenTelemetry is on."""

import time
from functools import partial
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult
from opentelemetry.trace import get_current_span

from context_protection.core.errors import NotAuthenticated
from gateway.access.transports import Transport
from gateway.catalog.catalog import catalogue
from gateway.mcp.call_tools import CALLING
from gateway.mcp.peers import Peer, peer_of
from gateway.tracing import identity, names, spans
from gateway.tracing.http_spans import http_parent

TOOLS_CALL = "tools/call"


def trace(server: Server[Any], stdio_peer: Peer | None) -> None:
    """Adds the middleware if OpenTelemetry is on. Otherwise removes the SDK's, which costs time on every message and
    creates spans that nobody receives."""
    if spans.tracer is not None:
        server.middleware.append(partial(_traced, server, stdio_peer))
    else:
        server.middleware = [each for each in server.middleware if not isinstance(each, OpenTelemetryMiddleware)]


async def _traced(
    server: Server[Any], stdio_peer: Peer | None, ctx: ServerRequestContext[Any], call_next: CallNext
) -> HandlerResult:
    started, connection = time.perf_counter(), _connection_attributes(ctx, stdio_peer)
    _add_to_span(ctx, connection)
    error_type = ""
    try:
        result = await call_next(ctx)
        if ctx.method == TOOLS_CALL and _is_error(result):
            error_type = names.TOOL_ERROR
        return result
    except MCPError as error:
        error_type = str(error.error.code)
        raise
    except BaseException as error:
        error_type = type(error).__qualname__
        raise
    finally:
        if ctx.request_id is not None and spans.duration is not None:
            attributes = _metric_attributes(server, ctx, connection, error_type)
            spans.duration.record(time.perf_counter() - started, attributes)


def _connection_attributes(ctx: ServerRequestContext[Any], stdio_peer: Peer | None) -> dict[str, str]:
    try:
        transport = peer_of(ctx, stdio_peer).transport
    except NotAuthenticated:
        return {}
    if transport is Transport.STDIO:
        return {names.NETWORK_TRANSPORT: "pipe"}
    protocol = "websocket" if transport is Transport.WEBSOCKET else "http"
    return {names.NETWORK_TRANSPORT: "tcp", names.NETWORK_PROTOCOL: protocol}


def _add_to_span(ctx: ServerRequestContext[Any], connection: dict[str, str]) -> None:
    current = get_current_span()  # the SDK's
    current.set_attributes(connection)
    current.set_attribute(names.REQUEST_ID, identity.request_id.get())
    session = _session_of(ctx)
    if session and ctx.protocol_version < names.FIRST_WITHOUT_SESSIONS:
        current.set_attribute(names.SESSION_ID, session)
    request = http_parent.get()
    if request is not None and request.trace_id != current.get_span_context().trace_id:
        current.add_link(request)  # the parent is the span in the request's _meta


def _session_of(ctx: ServerRequestContext[Any]) -> str | None:
    """The session's id, if the transport has one."""
    if isinstance(ctx.request, Peer):
        return ctx.request.session if isinstance(ctx.request.session, str) else None
    return ctx.request.headers.get("mcp-session-id") if ctx.request is not None else None


def _metric_attributes(
    server: Server[Any], ctx: ServerRequestContext[Any], connection: dict[str, str], error_type: str
) -> dict[str, str]:
    """Replaces unknown values that clients choose, because each distinct value creates a time series."""
    is_known = server.get_request_handler(ctx.method) is not None or ctx.method == "initialize"
    attributes = {
        names.METHOD: ctx.method if is_known else names.OTHER,
        names.PROTOCOL_VERSION: ctx.protocol_version,
        **connection,
    }
    if ctx.method == TOOLS_CALL:
        name = (ctx.params or {}).get("name")
        is_tool = isinstance(name, str) and (name in CALLING or catalogue.find(name) is not None)
        attributes |= {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL: str(name) if is_tool else names.OTHER}
    return attributes | ({names.ERROR_TYPE: error_type} if error_type else {})


def _is_error(result: HandlerResult) -> bool:
    if isinstance(result, CallToolResult):
        return result.is_error is True
    return isinstance(result, dict) and result.get("isError") is True
