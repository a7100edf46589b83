"""Checks of every HTTP and WebSocket connection before any MCP message is read: Host, encryption, Origin, key. The
Origin of a REST call is checked here too (called by gateway/process/handler.py)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from context_protection.core.errors import CallError, InvalidArgument, NotAllowed
from gateway.access.callers import CHALLENGE, identify
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller

LONGEST_HOST = 300  # characters of a Host header: a name has at most 253


@dataclass(frozen=True)
class Handshake:
    """The headers of a connection request."""

    headers: dict[bytes, bytes]
    scheme: str  # the connection's own: http, https, ws or wss

    @classmethod
    def of(cls, scope: dict[str, Any]) -> "Handshake":
        return cls(dict(scope["headers"]), scope.get("scheme", "http"))

    def get(self, name: str) -> str:
        return self.headers.get(name.encode(), b"").decode("latin-1").strip()

    async def caller(self, visit: Visit) -> Caller:
        """The authenticated caller. Raises CallError: 400 (Host), 403 (encryption, Origin), 401 (key)."""
        self.check()
        return await identify(self.get("authorization"), visit)

    def check(self) -> None:
        """Raises CallError: 400 (Host), 403 (encryption, Origin)."""
        self._check_host()
        self._check_encryption()
        self.check_origin()

    def _check_host(self) -> None:
        host = self.get("host")
        if len(host) > LONGEST_HOST or not _is_allowed(host, tuple(settings.ALLOWED_HOSTS)):
            raise InvalidArgument(
                "The Host header names a host that this server does not answer for.",
                reason="invalid_host",
                parameter="Host",
                value=host,
                expected="one of ALLOWED_HOSTS",
                suggestion="Add the host to ALLOWED_HOSTS, or connect by a name that is in it.",
            )

    def _check_encryption(self) -> None:
        """Requires https for keys if cookies require it. Rejects instead of redirecting: after a redirect the client
        would send the key again."""
        if settings.SECURE_COOKIES and not self._is_encrypted():
            raise NotAllowed(
                "The connection is not encrypted.",
                reason="https_required",
                expected="https:// or wss://",
                suggestion="Connect to the same address with https:// or wss://, and replace a key that was sent "
                "unencrypted. A proxy that ends TLS must send X-Forwarded-Proto, and BEHIND_PROXY=true must be set.",
            )

    def _is_encrypted(self) -> bool:
        """Applies Django's rule for pages."""
        forwarded = self.get("x-forwarded-proto").split(",")[0].strip() if settings.SECURE_PROXY_SSL_HEADER else ""
        return (forwarded or self.scheme) in {"https", "wss"}

    def check_origin(self) -> None:
        """Browsers send an Origin, other clients do not. To prevent DNS rebinding, an Origin must be this server's own
        or a trusted one. Raises NotAllowed."""
        origin = self.get("origin")
        if not origin:
            return
        scheme, _, host = origin.partition("://")
        same = scheme != "" and host == self.get("host")
        if not same and origin not in settings.CSRF_TRUSTED_ORIGINS:
            raise NotAllowed(
                "Pages of this origin may not connect.",
                reason="invalid_origin",
                parameter="Origin",
                value=origin,
                expected="no Origin, this server's own, or one of CSRF_TRUSTED_ORIGINS",
                suggestion="Add the origin to CSRF_TRUSTED_ORIGINS if you trust its pages.",
            )


@lru_cache(maxsize=256)  # a client repeats its Host with each request
def _is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)


def error_response(error: CallError) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body of the response that rejects a connection."""
    body = error.body
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", CHALLENGE.encode()))
    if error.retry_after:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return error.status, headers, body


async def send_error(send: Any, error: CallError) -> None:
    """Answers an HTTP request with an error."""
    status, headers, body = error_response(error)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
