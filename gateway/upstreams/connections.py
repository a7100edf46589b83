"""The settings of an upstream as calls use them, and their validation. Each problem names a field and says how to
correct it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from gateway.upstreams import addresses
from gateway.upstreams.addresses import DEFAULT_PORTS, check_url
from gateway.upstreams.errors import AddressRefused

Problem = tuple[str, str]  # a field, and a sentence for ops

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
# Headers that frame, route or negotiate messages. An API key in one of them breaks the request.
OUR_HEADERS = frozenset(
    {"accept", "accept-encoding", "content-encoding", "content-length", "content-type", "cookie", "host"}
    | {"connection", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
LONGEST_SECRET = 8_000  # characters; most servers reject longer headers


class AuthKind(StrEnum):
    """The kinds of authentication to an upstream."""

    NONE = "none"
    HEADER = "header"
    QUERY = "query"
    BEARER = "bearer"
    BASIC = "basic"
    CLIENT_CREDENTIALS = "client_credentials"


# The fields that each kind uses; fields of other kinds stay empty.
FIELDS_OF_KIND: Mapping[AuthKind, tuple[str, ...]] = {
    AuthKind.NONE: (),
    AuthKind.HEADER: ("parameter_name",),
    AuthKind.QUERY: ("parameter_name",),
    AuthKind.BEARER: (),
    AuthKind.BASIC: ("user_name",),
    AuthKind.CLIENT_CREDENTIALS: ("client_id", "token_url", "scope", "audience", "client_place"),
}
KIND_FIELDS = frozenset(name for names in FIELDS_OF_KIND.values() for name in names)


class ClientPlace(StrEnum):
    """The part of a token request that has client id and secret (RFC 6749, 2.3.1)."""

    HEADER = "header"
    BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`name` is also the prefix of its tools' names. `sealed_secret` is decrypted only to be sent; "" means no secret.
    `keep_seconds`: cache lifetime; None: the policy's. `rate_calls`: None means no rate limit. `usable_after`: seconds
    from the issue of a token to its first use."""

    name: str
    base_url: str
    kind: AuthKind = AuthKind.NONE
    sealed_secret: str = field(default="", repr=False)
    parameter_name: str = ""
    user_name: str = ""
    client_id: str = ""
    token_url: str = ""
    scope: str = ""
    audience: str = ""
    client_place: ClientPlace = ClientPlace.HEADER
    usable_after: float = 0.0
    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 55.0
    most_megabytes: int = 16
    attempts: int = 3
    rate_calls: int | None = None
    rate_seconds: int | None = None
    keep_seconds: int | None = None

    @property
    def secret_goes_to(self) -> tuple[str, str]:
        """The origins that receive the secret or its token: of the API, and of the token endpoint ("" if none)."""
        token_origin = origin(self.token_url) if self.kind is AuthKind.CLIENT_CREDENTIALS else ""
        return origin(self.base_url), token_origin

    @property
    def needs_secret(self) -> bool:
        return self.kind is not AuthKind.NONE and not (self.kind is AuthKind.BASIC and self.user_name)


def origin(url: str) -> str:
    """Scheme, host and port: "https://api.example.com". "" for an invalid address."""
    try:
        return addresses.locate(url).origin.text
    except AddressRefused:
        return ""


def problems(connection: Connection) -> Iterator[Problem]:
    """All problems of a connection, except those of its secret."""
    yield from _address_problems(connection)
    yield from authentication_problems(connection)
    yield from _limit_problems(connection)


def secret_problem(kind: AuthKind, user_name: str, secret: str) -> str | None:
    """Why a secret cannot be sent; None if it can. The sentence never contains a part of the secret."""
    if kind is AuthKind.NONE:
        return "Without authentication no secret is sent. Choose an authentication, or leave the secret empty."
    if any(not char.isprintable() for char in secret):
        return "The secret has line breaks or control characters in it. Copy it again, and nothing else."
    if kind in (AuthKind.HEADER, AuthKind.BEARER) and not secret.isascii():
        return "A header can carry ASCII characters only. Copy the secret again, and nothing else."
    if kind is AuthKind.BEARER and " " in secret:
        return "A bearer token has no spaces. Enter the token alone, without the word “Bearer”."
    if kind is AuthKind.BASIC and not user_name and ":" not in secret:
        return "Enter a user name, or enter both as the secret: user:password."
    return None


def _address_problems(connection: Connection) -> Iterator[Problem]:
    if connection.base_url and (problem := address_problem(connection.base_url)):
        yield "base_url", problem
    elif "?" in connection.base_url:
        yield "base_url", "Remove the part of the address from ? on; a key is entered under “Authentication”."


def address_problem(url: str) -> str | None:
    """Why `url` cannot be the address of an upstream; None if it can."""
    if problem := spelling_problem(url):
        return problem
    try:
        check_url(url)
    except AddressRefused as error:
        return f"{error.message} {error.suggestion}".strip()
    return None


def spelling_problem(url: str) -> str | None:
    """Like `address_problem`, but allows private addresses. For addresses that the deployer sets."""
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in url):
        return "An address has no spaces, line breaks or backslashes."
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - an invalid port raises here
    except ValueError:
        return "This is not an address. Expected for example https://api.example.com/v1."
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return "An address begins with https:// or http:// and a host: https://api.example.com/v1."
    if "@" in parts.netloc:
        return "Remove the user name and password from the address: they are entered under “Authentication”."
    if "#" in url:
        return "Remove the part of the address that begins with #."
    return None


def authentication_problems(
    connection: Connection, address_problem: Callable[[str], str | None] = address_problem
) -> Iterator[Problem]:
    """Problems of the authentication settings, except those of the secret."""
    match connection.kind:
        case AuthKind.HEADER:
            yield from _header_problems(connection.parameter_name)
        case AuthKind.QUERY if not connection.parameter_name:
            yield "parameter_name", "Enter the parameter that carries the key, for example api_key."
        case AuthKind.BASIC if ":" in connection.user_name:
            yield "user_name", "A user name has no colon."
        case AuthKind.CLIENT_CREDENTIALS:
            if not connection.client_id:
                yield "client_id", "Enter the client id that the upstream gave you."
            if not connection.token_url:
                yield "token_url", "Enter the address that issues tokens, for example https://api.example.com/token."
            elif problem := address_problem(connection.token_url):
                yield "token_url", problem


def _header_problems(name: str) -> Iterator[Problem]:
    if not name:
        yield "parameter_name", "Enter the header that carries the key, for example X-API-Key."
    elif not HEADER_NAME.fullmatch(name):
        yield "parameter_name", "A header's name has letters, digits and hyphens only, for example X-API-Key."
    elif name.lower() in OUR_HEADERS:
        yield "parameter_name", f"{name} is set by Sluice itself; no API takes its key there."


def _limit_problems(connection: Connection) -> Iterator[Problem]:
    for name in ("connect_seconds", "read_seconds"):
        seconds = getattr(connection, name)
        if seconds > connection.total_seconds:
            yield name, f"{seconds:g} seconds are longer than a whole call may take ({connection.total_seconds:g})."
    if connection.rate_calls is not None and connection.rate_seconds is None:
        yield "rate_seconds", "Enter the seconds within which this number of calls may be made."
    if connection.rate_seconds is not None and connection.rate_calls is None:
        yield "rate_calls", "Enter how many calls may be made in that time."
