"""Errors of the REST API: one body for all of them."""

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from context_protection.core.errors import (
    CallError,
    InternalError,
    InvalidArgument,
    NotAllowed,
    NotAuthenticated,
    store_unavailable,
)
from context_protection.stores.database_errors import means_unavailable
from gateway.access import rejected_calls
from gateway.access.callers import CHALLENGE
from gateway.access.programs import of_user_agent
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.api.call import DISPATCHED
from gateway.catalog.caller import Caller
from gateway.error_pages import LOOK_FIRST, no_such_address, too_large_a_form

logger = logging.getLogger(__name__)


def answer_error(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Django REST framework's exception handler."""
    error, headers = _as_call_error(exc), {}
    request = context.get("request")
    if request is not None and DISPATCHED not in request.META:
        user = request.__dict__.get("_user")  # `request.user` would authenticate again, and fail again
        caller = user if isinstance(user, Caller) else None
        program = of_user_agent(request.headers.get("User-Agent", ""))
        rejected_calls.record(error, Visit.of_request(request, Transport.REST), caller, program)
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = CHALLENGE
    if error.retry_after:
        headers["Retry-After"] = str(error.retry_after)
    status = exc.status_code if isinstance(exc, exceptions.APIException) else error.status
    return Response(error.document(), status=status, headers=headers)


def _as_call_error(exc: Exception) -> CallError:
    match exc:
        case CallError():
            return exc
        case exceptions.ParseError():
            return InvalidArgument(
                "The body is not valid JSON.",
                reason="invalid_json",
                parameter="body",
                expected="a JSON object of the operation's arguments",
                suggestion="Send Content-Type: application/json and a body such as {}.",
            )
        case exceptions.MethodNotAllowed():
            return NotAllowed(
                str(exc.detail),
                reason="method_not_allowed",
                suggestion="Resources answer GET; operations answer POST at /api/v1/tools/{name}.",
            )
        case exceptions.APIException():
            return InvalidArgument(str(exc.detail), reason=str(exc.default_code), suggestion="See /api/docs/.")
        case Http404():
            return no_such_address()
        case RequestDataTooBig() | TooManyFieldsSent() | TooManyFilesSent():
            return too_large_a_form(exc)
    if means_unavailable(exc):
        return store_unavailable(1)
    logger.exception("request failed", exc_info=exc)
    return InternalError("Something failed on our side.", reason="internal_error", suggestion=LOOK_FIRST)
