"""Identifies the sender of a request body before the body is read, as far as possible."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie

from gateway.access.callers import identify
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.process import bodies
from gateway.process.bodies import LARGEST_BODY, SMALL_BODY, BodyMemory
from gateway.threads.bridge import run_sync

REST = "/api/"


@dataclass(frozen=True)
class Sender:
    memory: BodyMemory
    most: int = LARGEST_BODY  # maximum bytes of its body

    @classmethod
    async def of(cls, scope: dict[str, Any]) -> "Sender":
        """Raises NotAuthenticated if the body requires a key that is missing or invalid."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = int(headers.get(b"content-length", b"0"))
        if length == 0 and b"transfer-encoding" not in headers:
            return ANYBODY
        if scope["path"].startswith(REST):
            await identify(headers.get(b"authorization", b"").decode("latin-1"), Visit.of(scope, Transport.REST))
            return cls(bodies.caller_memory)
        if length > SMALL_BODY and b"cookie" in headers and await run_sync(_is_staff, headers[b"cookie"]):
            return cls(bodies.caller_memory, bodies.LARGE_BODIES.get(scope["path"], LARGEST_BODY))
        return ANYBODY


ANYBODY = Sender(bodies.anonymous_memory)


def _is_staff(cookies: bytes) -> bool:
    """Whether the session of these cookies may use the admin."""
    session = parse_cookie(cookies.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
    request.user = get_user(request)
    return admin.site.has_permission(request)
