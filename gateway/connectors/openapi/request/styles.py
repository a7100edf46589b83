"""Encodes arguments for a URL, a header, a cookie or a form in the styles of OpenAPI 3, percent-encoded."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from gateway.connectors.openapi.document.description import Place

Pair = tuple[str, str]  # name and value, both encoded

_BETWEEN = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "simple": ",", "label": ",", "matrix": ","}
_RESERVED = ":/?@!$'()*,;[]="  # unencoded with allowReserved. & # + stay encoded: they would end the value


def text(value: Any) -> str:
    """Any value as one string: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def encoded(value: Any, safe: str = "") -> str:
    """The value as percent-encoded text. Raises UnicodeEncodeError for a lone surrogate."""
    return quote(text(value), safe=safe)


def path_value(place: Place, value: Any) -> str:
    """`simple`: 3,4,5; `label`: .3.4.5; `matrix`: ;id=3,4,5 (RFC 6570)."""
    if place.media_type:
        return encoded(orjson.dumps(value).decode())
    match place.style:
        case "label":
            return "." + _joined(place, value, "." if place.explode else ",")
        case "matrix":
            return _matrix(place, value)
    return _joined(place, value, ",")


def _matrix(place: Place, value: Any) -> str:
    name = encoded(place.name)
    if not place.explode or not isinstance(value, (list, dict)):
        return f";{name}={_joined(place, value, ',')}"
    if isinstance(value, dict):
        return "".join(f";{encoded(key)}={encoded(each)}" for key, each in value.items())
    return "".join(f";{name}={encoded(each)}" for each in value)


def _joined(place: Place, value: Any, between: str, safe: str = "") -> str:
    if isinstance(value, list):
        return between.join(encoded(each, safe) for each in value)
    if not isinstance(value, dict):
        return encoded(value, safe)
    if place.explode:
        return between.join(f"{encoded(key)}={encoded(each, safe)}" for key, each in value.items())
    return between.join(f"{encoded(key)}{between}{encoded(each, safe)}" for key, each in value.items())


def query_pairs(place: Place, value: Any) -> Iterator[Pair]:
    """The name-value pairs of a query or a form. An empty list or object gives none."""
    name, safe = encoded(place.name), _RESERVED if place.allow_reserved else ""
    if place.media_type:
        yield name, encoded(orjson.dumps(value).decode(), safe)
    elif place.style == "deepObject":
        yield from bracketed(name, value, safe)
    elif not isinstance(value, (list, dict)):
        yield name, encoded(value, safe)
    elif not value:
        return
    elif not place.explode:
        between = _BETWEEN.get(place.style, ",")
        yield name, _joined(place, value, between, safe)
    elif isinstance(value, dict):
        yield from ((encoded(key), encoded(each, safe)) for key, each in value.items())
    else:
        yield from ((name, encoded(each, safe)) for each in value)


def bracketed(name: str, value: Any, safe: str = "") -> Iterator[Pair]:
    """Pairs such as metadata[key]=… and items[0][price]=…; `name` is already encoded."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if below is None:
        yield name, encoded("" if value is None else value, safe)
        return
    for key, each in below:
        yield from bracketed(f"{name}%5B{encoded(str(key))}%5D", each, safe)


def header_value(place: Place, value: Any) -> str:
    """The value as text, since headers are not percent-encoded."""
    if place.media_type or not isinstance(value, (list, dict)):
        return orjson.dumps(value).decode() if place.media_type else text(value)
    if isinstance(value, list):
        return ",".join(map(text, value))
    between = "=" if place.explode else ","
    return ",".join(f"{key}{between}{text(each)}" for key, each in value.items())


def cookies(place: Place, value: Any) -> list[str]:
    """name=value, encoded so that the value cannot end early."""
    return [f"{name}={each}" for name, each in query_pairs(place, value)]
