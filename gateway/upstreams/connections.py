"""The settings of an upstream, in the form that calls read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.upstreams import addresses
from gateway.upstreams.errors import AddressRefused


class Kind(StrEnum):
    """How Sluice authenticates itself to an upstream."""

    NONE = "none"
    HEADER = "header"
    QUERY = "query"
    BEARER = "bearer"
    BASIC = "basic"
    CLIENT_CREDENTIALS = "client_credentials"


# The fields that each kind needs; fields of other kinds stay empty.
FIELDS_OF: Mapping[Kind, tuple[str, ...]] = {
    Kind.NONE: (),
    Kind.HEADER: ("parameter_name",),
    Kind.QUERY: ("parameter_name",),
    Kind.BEARER: (),
    Kind.BASIC: ("user_name",),
    Kind.CLIENT_CREDENTIALS: ("client_id", "token_url", "scope", "audience", "client_place"),
}
OF_SOME_KINDS = frozenset(name for names in FIELDS_OF.values() for name in names)


class ClientPlace(StrEnum):
    """Where a token request carries client id and secret (RFC 6749, 2.3.1)."""

    HEADER = "header"
    BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`name` is also the prefix of its tools. `sealed_secret` is decrypted only to be sent; "" means no secret.
    `keep_seconds`: cache lifetime; None: the policy's. `rate_calls` None: no rate limit. `usable_after`: seconds
    between the issue of a token and its first use."""

    name: str
    base_url: str
    kind: Kind = Kind.NONE
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
        """The API's origin, which receives the secret or its token, and the token endpoint's ("" if none)."""
        token_origin = origin(self.token_url) if self.kind is Kind.CLIENT_CREDENTIALS else ""
        return origin(self.base_url), token_origin

    @property
    def needs_secret(self) -> bool:
        return self.kind is not Kind.NONE and not (self.kind is Kind.BASIC and self.user_name)


def origin(url: str) -> str:
    """Scheme, host and port: "https://api.example.com". "" for an invalid address."""
    try:
        return addresses.origin(addresses.split(url))
    except AddressRefused:
        return ""
