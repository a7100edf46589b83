"""Builds a request from an operation and its arguments. It can only go to the API's own address.

Arguments can be hostile, and the request will carry a credential, so every value is encoded for its place, and the
finished URL is checked once more (CVE-2026-32871).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from context_protection.core.errors import InvalidArgument
from context_protection.core.redaction import may_name_secret, redact
from gateway.connectors.openapi.document.arguments import TEMPLATE
from gateway.connectors.openapi.document.description import DocumentedOperation, Place
from gateway.connectors.openapi.request import payloads, styles
from gateway.upstreams.connections import origin
from gateway.upstreams.errors import UpstreamGarbled
from gateway.upstreams.request import Request

ACCEPT = "application/json, */*;q=0.5"
_IN_TEMPLATE = "/:@!$&'()*+,;=-._~%"  # characters of a documented path that stay unencoded
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PLAIN = re.compile(r"[\x21-\x7e]+")
_MAX_UNQUOTED = 4  # times that the check decodes a value, since each server in a chain may decode it

Arguments = Mapping[str, Any]


def build(
    operation: DocumentedOperation, arguments: Arguments, base_url: str, query: Mapping[str, str | int] | None = None
) -> Request:
    """`arguments` are valid against the operation's schemas; `query` is added to the URL (a page's size and position).
    Optional arguments of a safe operation that equal their defaults are not sent: upstream has the same defaults.
    Raises InvalidArgument."""
    try:
        return _built(operation, arguments, base_url, query or {})
    except (UnicodeEncodeError, TypeError):
        raise InvalidArgument(
            "The arguments contain a value that cannot be sent: half a character, or a number that is too large.",
            reason="invalid_arguments",
            parameter="arguments",
            expected="JSON values that can be sent",
            suggestion="Correct the strings and numbers in the arguments.",
        ) from None


def _built(
    operation: DocumentedOperation, arguments: Arguments, base_url: str, query: Mapping[str, str | int]
) -> Request:
    given = list(_sent_arguments(operation, arguments))
    template, _, fixed = operation.path.partition("#")[0].partition("?")
    base = base_url.rstrip("/")
    path = _path(template, [(name, place, value) for name, place, value in given if place.location == "path"])
    pairs = [fixed] if fixed else []
    pairs += [f"{name}={value}" for name, value in _query(given)]
    pairs += [f"{styles.encoded(name)}={styles.encoded(value)}" for name, value in query.items()]
    url = base + path + ("?" + "&".join(pairs) if pairs else "")
    _check_address(url, base)
    body = [(place, value) for _, place, value in given if place.location == "body"]
    media_type, data = payloads.written(operation.body, body) if operation.body else ("", b"")
    headers = {"accept": ACCEPT, **_headers(given), **({"content-type": media_type} if media_type else {})}
    secrets = tuple(_secrets({name: value for name, _, value in given}))
    return Request(operation.method, url, headers, data, secrets=secrets)


def _secrets(given: Arguments) -> Iterator[str]:
    """The values, as sent, of arguments at any depth whose names denote secrets."""
    if not may_name_secret(given):
        return
    _, found = redact(dict(given))
    for finding in found:
        if finding.how != "text":
            value: Any = given
            for step in finding.path:
                value = value[step]
            yield from _texts(value)


def _sent_arguments(operation: DocumentedOperation, arguments: Arguments) -> Iterator[tuple[str, Place, Any]]:
    """The arguments that are sent, with their places, in the order of the document."""
    for name, place in operation.places.items():
        value = arguments.get(name)
        if value is None and not (name in arguments and name in operation.takes_null):
            if place.location == "path":
                raise _invalid(name, None, "given, as it is part of the address")
            continue
        schema = operation.parameters.get(name, {})
        is_default = "default" in schema and schema["default"] == value and type(schema["default"]) is type(value)
        if not (is_default and operation.is_safe and name not in operation.required):
            yield name, place, value


# -- The address ------------------------------------------------------------------------------------


def _path(template: str, given: list[tuple[str, Place, Any]]) -> str:
    values = {place.name: _path_value(name, place, value) for name, place, value in given}
    pieces = list(_pieces(template))
    pieces[1::2] = [values[piece] for piece in pieces[1::2]]
    return "".join(pieces)


@lru_cache(maxsize=2048)
def _pieces(template: str) -> tuple[str, ...]:
    """The encoded pieces of a documented path, and between them the names of its arguments."""
    pieces = TEMPLATE.split("/" + template.lstrip("/"))
    pieces[::2] = [quote(piece, safe=_IN_TEMPLATE) for piece in pieces[::2]]
    return tuple(pieces)


def _path_value(name: str, place: Place, value: Any) -> str:
    for part in _texts(value):
        if not part or _climbs(part):
            raise _invalid(name, value, "a text that is not empty, and has no . or .. as a path segment")
    written = styles.path_value(place, value)
    if not written:
        raise _invalid(name, value, "at least one value")
    return written


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (styles.text(each) for pair in value.items() for each in pair)
    elif isinstance(value, list):
        yield from map(styles.text, value)
    else:
        yield styles.text(value)


def _climbs(text: str) -> bool:
    """Whether the text has a . or .. path segment, even after repeated decoding. Many servers decode encoded
    slashes."""
    if "." not in text and "%" not in text:
        return False
    for _ in range(_MAX_UNQUOTED):
        if any(part.partition(";")[0] in (".", "..") for part in re.split(r"[/\\]", text)):
            return True
        decoded = unquote(text)
        if decoded == text:
            return False
        text = decoded
    return True


def _check_address(url: str, base: str) -> None:
    """Raises InvalidArgument unless the URL has the API's scheme, host and port, and a path below the API's own."""
    is_plain = _PLAIN.fullmatch(url) is not None and "#" not in url
    path = url[len(base) :].partition("?")[0]
    # The slash ends the host and port for every parser.
    if not (is_plain and url.startswith(base + "/") and not _base_climbs(base) and not _climbs(path)):
        raise InvalidArgument(
            "These arguments would lead to an address outside the API.",
            reason="invalid_address",
            parameter="arguments",
            expected="values that stay within their part of the path",
            suggestion="Check the arguments that are part of the address.",
        )


@lru_cache(maxsize=256)
def _base_climbs(base: str) -> bool:
    return _climbs(urlsplit(base).path)


def may_follow(request: Request, url: str) -> bool:
    """Whether the URL that upstream gave for its next page, which may be relative, has the request's origin: the
    credential must not go to any other."""
    return _joined(request, url) is not None


def next_page(request: Request, url: str) -> Request:
    """The same request at the URL that upstream gave for its next page. Raises UpstreamGarbled unless `may_follow`."""
    whole = _joined(request, url)
    if whole is None:
        raise UpstreamGarbled(
            "Upstream's link to its next page leads to another host.",
            reason="foreign_next_page",
            suggestion="Ask for less at once, or tell the operator: the API's base URL may be wrong.",
        )
    return replace(request, url=whole)


def _joined(request: Request, url: str) -> str | None:
    try:
        whole = urljoin(request.url, url).partition("#")[0]
    except ValueError:  # an invalid IPv6 address
        return None
    return whole if origin(whole) == origin(request.url) and _PLAIN.fullmatch(whole) else None


# -- Query and headers ------------------------------------------------------------------------------


def _query(given: list[tuple[str, Place, Any]]) -> Iterator[styles.Pair]:
    for _, place, value in given:
        if place.location == "query":
            yield from styles.query_pairs(place, value)


def _headers(given: list[tuple[str, Place, Any]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for name, place, value in given:
        if place.location == "cookie":
            cookies += styles.cookies(place, value)
        elif place.location == "header":
            headers[place.name.lower()] = _header_value(name, place, value)
    return {**headers, "cookie": "; ".join(cookies)} if cookies else headers


def _header_value(name: str, place: Place, value: Any) -> str:
    written = styles.header_value(place, value).strip(" \t")
    if not _HEADER_VALUE.fullmatch(written) or not _HEADER_NAME.fullmatch(place.name):
        raise _invalid(name, value, "a text that a header can carry: one line, of Latin-1 characters")
    return written


def _invalid(name: str, value: Any, expected: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name} must be {expected}.",
        reason="missing_argument" if value is None else "invalid_value",
        parameter=name,
        value=value,
        expected=expected,
        suggestion=f"Correct {name}.",
    )
