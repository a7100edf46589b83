"""Passes REST requests to the dispatcher."""

from typing import Any, cast

from rest_framework.request import Request

from context_protection.core.payloads import Envelope
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking


def called(request: Request, operation: str, arguments: dict[str, Any]) -> Envelope:
    """Raises CallError."""
    caller = cast(Caller, request.user)
    return serve_blocking(Call(operation, arguments, caller, transport=Transport.REST, hints=hints.rest))
