"""Builds the authentication of a connection. Only this module decrypts a credential for use."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.upstreams.authentication import QueryAuthentication, basic, bearer, header_key
from gateway.upstreams.client_credentials import ClientCredentials
from gateway.upstreams.connections import Connection, Kind, origin
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.exchanges import NO_AUTHENTICATION, Authentication, Request, Response, Send
from gateway.upstreams.secrets import CredentialLost, vault

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


def authentication_of(
    connection: Connection, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
) -> Authentication:
    """Never raises. If the credential is missing or cannot be decrypted, each call of this upstream fails with that
    error, and other upstreams go on."""
    if connection.kind is Kind.NONE:
        return NO_AUTHENTICATION
    try:
        secret = _decrypted(connection)
    except UpstreamError as error:
        return Unusable(error)
    return OnlyTo(connection.name, origin(connection.base_url), _authentication_with(connection, secret, clock, sleep))


def _decrypted(connection: Connection) -> str:
    if connection.sealed_secret:
        return vault().open(connection.sealed_secret, upstream=connection.name)
    if connection.kind is Kind.BASIC and connection.user_name:
        return ""  # a user without a password
    raise CredentialLost(
        f"The credential of {connection.name} has not been entered.",
        reason="upstream_credentials",
        suggestion=f"Tell the operator: enter the credential of {connection.name} in the admin.",
    )


def _authentication_with(connection: Connection, secret: str, clock: Clock, sleep: Sleep) -> Authentication:
    match connection.kind:
        case Kind.HEADER:
            return header_key(connection.parameter_name, secret)
        case Kind.QUERY:
            return QueryAuthentication(connection.parameter_name, secret)
        case Kind.BEARER:
            return bearer(secret)
        case Kind.BASIC:
            return basic(connection.user_name, secret)
        case Kind.CLIENT_CREDENTIALS:
            return ClientCredentials(connection, secret, clock=clock, sleep=sleep)
        case Kind.NONE:
            return NO_AUTHENTICATION


@dataclass(frozen=True, slots=True)
class OnlyTo:
    """Sends a credential to its upstream's origin only, whatever address a document or an answer names."""

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
                f"The credential of {self.upstream} goes to {self.origin} only; this call would take it elsewhere.",
                reason="upstream_address",
                suggestion="Tell the operator: what is on another server is an upstream API of its own.",
            )
        return await self.authentication.apply(request, send)

    async def renewed(self, refused: Response, send: Send) -> bool:
        return await self.authentication.renewed(refused, send)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Rejects every request, because its credential is missing or cannot be decrypted."""

    error: UpstreamError
    secrets: tuple[str, ...] = ()

    async def apply(self, request: Request, send: Send) -> Request:
        raise self.error

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False
