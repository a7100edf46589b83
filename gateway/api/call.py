"""Passes REST requests to the dispatcher."""

from typing import Any, cast

from rest_framework.request import Request

from context_protection.core.payloads import Envelope
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from gateway.tracing import spans


def called(request: Request, operation: str, arguments: dict[str, Any]) -> Envelope:
    """Raises CallError."""
    caller = cast(Caller, request.user)
    match = request.resolver_match
    spans.name_request(match.route if match else "", operation)
    return serve_blocking(Call(operation, arguments, caller, transport=Transport.REST, hints=hints.rest))
