"""Gives every HTTP request an id: the client's `X-Request-ID` if valid, else a new one. The response repeats it."""

from typing import Any

from gateway.tracing import http_spans, identity, spans
from gateway.tracing.identity import HEADER, TRACEPARENT

_TRACEPARENT = TRACEPARENT.encode()


class Identified:
    """Wraps an ASGI application for HTTP requests."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        offered = traceparent = b""
        for name, value in scope["headers"]:
            if name == HEADER:
                offered = value
            elif name == _TRACEPARENT:
                traceparent = value
        request_id = identity.accept(offered.decode("latin-1"))
        token = identity.request_id.set(request_id)
        identity.client_trace.set(identity.trace_in(traceparent.decode("latin-1")) if traceparent else "")
        repeated = (HEADER, request_id.encode())

        async def send_with_id(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], repeated]
            await send(message)

        try:
            if spans.tracer is None:
                await self.application(scope, receive, send_with_id)
            else:
                await http_spans.serve(self.application, scope, receive, send_with_id)
        finally:
            identity.request_id.reset(token)
