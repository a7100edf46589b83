"""Serves HTTP requests while OpenTelemetry is on. The client's span is their parent. REST requests get their own spans;
the MCP SDK makes the spans of MCP. This module is always imported, so it imports nothing of OpenTelemetry's SDK."""

from contextvars import ContextVar
from typing import Any

from opentelemetry import context
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanContext, SpanKind, get_current_span

from gateway.tracing import names, spans

REST = "/api/v1/"

# The client's span from the HTTP headers; None: the client sent none.
http_parent: ContextVar[SpanContext | None] = ContextVar("http_parent", default=None)


async def serve(application: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    parent = extract({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
    client = get_current_span(parent).get_span_context()
    http_parent.set(client if client.is_valid else None)
    token = context.attach(parent)
    try:
        if scope["path"].startswith(REST):
            await _serve_rest(application, scope, receive, send)
        else:
            await application(scope, receive, send)
    finally:
        context.detach(token)


async def _serve_rest(application: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    with spans.span(scope["method"], {names.HTTP_METHOD: scope["method"]}, SpanKind.SERVER) as request:

        async def send_and_note(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                request.set_attribute(names.HTTP_STATUS, status)
                if status >= 500:
                    request.set_attribute(names.ERROR_TYPE, str(status))
            await send(message)

        await application(scope, receive, send_and_note)
