"""The endpoint of Hostaway's unified webhooks: stores and acknowledges events; a task of the worker applies them.

Hostaway authenticates with the login and password of the registered webhook: any login, and HOSTAWAY_WEBHOOK_SECRET as
the password.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from context_protection.core import json_limits
from context_protection.core.budget import dumps
from context_protection.core.errors import CallError, InvalidArgument, NotAllowed, NotAuthenticated, UnknownOperation
from gateway.connectors.hostaway import values
from gateway.connectors.hostaway.models import WebhookEvent
from gateway.upstreams.auth.vault import vault

MAX_BYTES = 1_000_000
TOO_LARGE = 413
METHOD_NOT_ALLOWED = 405


@csrf_exempt
def receive(request: HttpRequest) -> HttpResponse:
    """Returns 200 for every event of Hostaway, including repeated ones: {"status": "stored" | "repeated"}."""
    secret: str = getattr(settings, "HOSTAWAY_WEBHOOK_SECRET", "")
    if not secret:
        return _error_response(_no_webhooks())
    if not _is_hostaway(request.headers.get("Authorization", ""), secret):
        return _error_response(_wrong_credentials(), {"WWW-Authenticate": 'Basic realm="sluice"'})
    if request.method != "POST":
        return _error_response(_not_posted(), {"Allow": "POST"}, status=METHOD_NOT_ALLOWED)
    body = request.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        return _error_response(_too_large(), status=TOO_LARGE)
    try:
        event = _parsed(body)
    except InvalidArgument as error:
        return _error_response(error)
    return _json({"status": "stored" if _store(event, body) else "repeated"})


def _is_hostaway(authorization: str, secret: str) -> bool:
    """Compares the password in constant time."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        _, _, password = base64.b64decode(encoded, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(password, secret.encode())


def _parsed(body: bytes) -> Mapping[str, Any]:
    """Raises InvalidArgument."""
    try:
        event = json_limits.loads(body)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise InvalidArgument(
            "The body is not a Hostaway event.",
            reason="invalid_event",
            parameter="body",
            expected='a JSON object such as {"event": "reservation.updated", "data": {…}}',
            suggestion="Register this address at Hostaway as a unified webhook.",
        )
    return event


def _store(event: Mapping[str, Any], body: bytes) -> bool:
    """Returns whether the event is new. The worker is not notified, as its task runs often."""
    try:
        with transaction.atomic():
            WebhookEvent.objects.create(
                digest=hashlib.sha256(body).hexdigest(),
                event=values.code(event["event"]) or "",
                object_id=_object_id(event),
                body=vault().seal(orjson.dumps(event).decode()),
                received_at=timezone.now(),
            )
    except IntegrityError:
        return False
    return True


def _object_id(event: Mapping[str, Any]) -> int | None:
    data = event.get("data")
    return values.integer(data.get("id")) if isinstance(data, dict) else None


# -- Responses --------------------------------------------------------------------------------------


def _no_webhooks() -> UnknownOperation:
    return UnknownOperation(
        "There is nothing at this address.",
        reason="unknown_address",
        suggestion="Set HOSTAWAY_WEBHOOK_SECRET to have Hostaway's webhooks received here.",
    )


def _wrong_credentials() -> NotAuthenticated:
    return NotAuthenticated(
        "The login and password are not those of the webhook.",
        reason="not_authenticated",
        expected="Basic authentication with HOSTAWAY_WEBHOOK_SECRET as the password",
        suggestion="Register the webhook at Hostaway again, with this password.",
    )


def _not_posted() -> NotAllowed:
    return NotAllowed("Events are sent by POST.", reason="method_not_allowed", suggestion="Send the event by POST.")


def _too_large() -> InvalidArgument:
    return InvalidArgument(
        "The event is too large.",
        reason="too_large",
        parameter="body",
        expected=f"at most {MAX_BYTES:,} bytes",
        suggestion="Nothing is lost: the next sync reads what has changed.",
    )


def _error_response(
    error: CallError, headers: Mapping[str, str] | None = None, *, status: int | None = None
) -> HttpResponse:
    return _json(error.document(), status or error.status, headers)


def _json(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(dumps(document), status=status, content_type="application/json", headers=headers)
