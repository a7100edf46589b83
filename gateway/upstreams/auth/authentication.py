"""How Sluice authenticates to an upstream: the kinds of authentication, and the choice for a connection. Only this
module decrypts a credential in order to send it."""

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import quote, unquote_plus, urlsplit, urlunsplit

from gateway.upstreams.auth.client_credentials import ClientCredentials
from gateway.upstreams.auth.vault import CredentialLost, vault
from gateway.upstreams.connections import AuthKind, Connection, origin
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.request import Request, Response, Send, with_header

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Authentication(Protocol):
    """Authenticates Sluice's requests to an upstream. `secrets`: texts to mask wherever the upstream's text is
    repeated."""

    @property
    def secrets(self) -> Sequence[str]: ...

    async def apply(self, request: Request, send: Send) -> Request:
        """The request with its credentials, which may have to be fetched with `send`. Raises UpstreamError."""

    async def renewed(self, refused: Response, send: Send) -> bool:
        """Tries to renew the credentials after 401 or 403. True if the request should be sent once more."""


class NoAuthentication:
    secrets: Sequence[str] = ()

    async def apply(self, request: Request, send: Send) -> Request:
        return request

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False


NO_AUTHENTICATION = NoAuthentication()


@dataclass(frozen=True, slots=True)
class HeaderAuthentication:
    """The same header on each request: an API key, a bearer token, or user name and password."""

    name: str
    value: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    async def apply(self, request: Request, send: Send) -> Request:
        return with_header(request, self.name, self.value)

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class QueryAuthentication:
    """An API key in the query. Prefer a header where the API allows one: proxies log queries."""

    name: str
    value: str = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.value, quote(self.value, safe="")

    async def apply(self, request: Request, send: Send) -> Request:
        parts = urlsplit(request.url)
        others = [pair for pair in parts.query.split("&") if pair and _name_of(pair) != self.name]
        own = f"{quote(self.name, safe='')}={quote(self.value, safe='')}"
        return replace(request, url=urlunsplit(parts._replace(query="&".join([*others, own]))))

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False


def header_key(name: str, key: str) -> HeaderAuthentication:
    return HeaderAuthentication(name, key, (key,))


def bearer(token: str) -> HeaderAuthentication:
    return HeaderAuthentication("Authorization", f"Bearer {token}", (token,))


def basic(user: str, password: str) -> HeaderAuthentication:
    """User name and password in UTF-8 (RFC 7617). Without a user name, `password` contains both, as "user:password"."""
    pair = f"{user}:{password}" if user else password
    encoded = base64.b64encode(pair.encode()).decode()
    parts = (password,) if user else tuple(pair.split(":", 1))
    return HeaderAuthentication("Authorization", f"Basic {encoded}", (encoded, *filter(None, parts)))


def _name_of(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])


def authentication_of(
    connection: Connection, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
) -> Authentication:
    """Never raises: a credential that is missing or cannot be decrypted makes each call of this upstream fail, and
    does not affect other upstreams."""
    if connection.kind is AuthKind.NONE:
        return NO_AUTHENTICATION
    try:
        secret = _decrypted(connection)
    except UpstreamError as error:
        return UnusableAuthentication(error)
    return OriginBoundAuthentication(
        connection.name, origin(connection.base_url), _authentication_with(connection, secret, clock, sleep)
    )


def _decrypted(connection: Connection) -> str:
    if connection.sealed_secret:
        return vault().open(connection.sealed_secret, upstream=connection.name)
    if connection.kind is AuthKind.BASIC and connection.user_name:
        return ""  # a user without a password
    raise CredentialLost(
        f"The credential of {connection.name} has not been entered.",
        reason="upstream_credentials",
        suggestion=f"Tell the operator: enter the credential of {connection.name} in the admin.",
    )


def _authentication_with(connection: Connection, secret: str, clock: Clock, sleep: Sleep) -> Authentication:
    match connection.kind:
        case AuthKind.HEADER:
            return header_key(connection.parameter_name, secret)
        case AuthKind.QUERY:
            return QueryAuthentication(connection.parameter_name, secret)
        case AuthKind.BEARER:
            return bearer(secret)
        case AuthKind.BASIC:
            return basic(connection.user_name, secret)
        case AuthKind.CLIENT_CREDENTIALS:
            return ClientCredentials(connection, secret, clock=clock, sleep=sleep)
        case AuthKind.NONE:
            return NO_AUTHENTICATION


@dataclass(frozen=True, slots=True)
class OriginBoundAuthentication:
    """Sends a credential to its upstream's origin only, even if a document or an answer names another address."""

    upstream: str
    origin: str
    authentication: Authentication

    @property
    def secrets(self) -> Sequence[str]:
        return self.authentication.secrets

    async def apply(self, request: Request, send: Send) -> Request:
        """Raises AddressRefused for a request to another origin."""
        if origin(request.url) != self.origin:
            raise AddressRefused(
                f"The credential of {self.upstream} is sent to {self.origin} only, but this call has another address.",
                reason="upstream_address",
                suggestion="Tell the operator: an address on another server needs its own upstream API.",
            )
        return await self.authentication.apply(request, send)

    async def renewed(self, refused: Response, send: Send) -> bool:
        return await self.authentication.renewed(refused, send)


@dataclass(frozen=True, slots=True)
class UnusableAuthentication:
    """Rejects every request, because its credential is missing or cannot be decrypted."""

    error: UpstreamError
    secrets: tuple[str, ...] = ()

    async def apply(self, request: Request, send: Send) -> Request:
        raise self.error

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False
