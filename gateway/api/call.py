"""Passes REST requests to the dispatcher."""

from typing import Any, cast

from rest_framework.request import Request

from context_protection.core.payloads import Envelope
from gateway.access.programs import of_user_agent
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from gateway.tracing import spans

CALL = "sluice.call"  # in the ASGI scope: the call that the request has made
DISPATCHED = "sluice.dispatched"  # marks a request whose failure the dispatcher records


def called(request: Request, operation: str, arguments: dict[str, Any]) -> Envelope:
    """Raises CallError."""
    match = request.resolver_match
    spans.name_request(match.route if match else "", operation)
    request.META[DISPATCHED] = True
    call = Call(
        operation,
        arguments,
        cast(Caller, request.user),
        transport=Transport.REST,
        hints=hints.rest,
        program=of_user_agent(request.headers.get("User-Agent", "")),
    )
    if (scope := getattr(request._request, "scope", None)) is not None:
        scope[CALL] = call
    return serve_blocking(call)
