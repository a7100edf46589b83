"""Credentials in requests: headers and query parameters."""

import base64
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote_plus, urlsplit, urlunsplit

from gateway.upstreams.exchanges import Request, Response, Send


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
    """User name and password in UTF-8 (RFC 7617). Without a user name, `password` is both, as "user:password"."""
    pair = f"{user}:{password}" if user else password
    encoded = base64.b64encode(pair.encode()).decode()
    parts = (password,) if user else tuple(pair.split(":", 1))
    return HeaderAuthentication("Authorization", f"Basic {encoded}", (encoded, *filter(None, parts)))


def with_header(request: Request, name: str, value: str) -> Request:
    """The request with this header, which replaces any header of the same name."""
    others = {each: text for each, text in request.headers.items() if each.lower() != name.lower()}
    return replace(request, headers={**others, name: value})


def _name_of(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])
