"""The REST door's errors: one body for all of them (design: shapes on the wire)."""

import logging
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from context_protection.budget import dumps
from context_protection.errors import (
    CallError,
    InternalError,
    InvalidArgument,
    NotAllowed,
    NotAuthenticated,
    UnknownOperation,
)

logger = logging.getLogger(__name__)


def answer_error(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Django REST framework's exception handler."""
    error, headers = _as_call_error(exc), {}
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="sluice"'
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
    logger.exception("request failed", exc_info=exc)
    return InternalError("Something failed on our side; nothing was changed.", reason="internal_error")


def no_such_address() -> UnknownOperation:
    return UnknownOperation(
        "There is nothing at this address.",
        reason="unknown_address",
        suggestion="/api/docs/ lists the addresses; operations answer at /api/v1/tools/{name}.",
    )


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404: JSON, short, without HTML."""
    return HttpResponse(dumps(no_such_address().document()), status=404, content_type="application/json")


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500."""
    error = InternalError("Something failed on our side; nothing was changed.", reason="internal_error")
    return HttpResponse(dumps(error.document()), status=500, content_type="application/json")
