"""Encodes the body of a request from its arguments, by their upstream names."""

import base64
import binascii
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.document.description import BodyForm, BodyKind, Place
from gateway.connectors.openapi.request import styles

Filled = list[tuple[Place, Any]]  # the arguments of a body, and where each goes
_IN_QUOTES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


def written(form: BodyForm, filled: Filled) -> tuple[str, bytes]:
    """The body's Content-Type and bytes; both are empty if no body is sent. Raises InvalidArgument."""
    if not filled and not (form.required and form.flattened):
        return "", b""
    values = {place.name: value for place, value in filled}
    whole = values if form.flattened else values.get("")
    match form.kind:
        case BodyKind.JSON:
            return form.media_type, orjson.dumps(whole)
        case BodyKind.FORM:
            pairs = [pair for place, value in _fields(filled) for pair in _form_pairs(place, value)]
            return form.media_type, "&".join(f"{name}={value}" for name, value in pairs).encode()
        case BodyKind.MULTIPART:
            return _multipart(form.media_type, _fields(filled))
        case BodyKind.TEXT:
            media_type = form.media_type if "charset" in form.media_type else f"{form.media_type}; charset=utf-8"
            return media_type, styles.text(whole).encode()
        case BodyKind.BINARY:
            return form.media_type, _decoded("body", whole)


def _fields(filled: Filled) -> Filled:
    """The fields of a form: if it is not flattened, the members of its only argument."""
    return [
        each
        for place, value in filled
        for each in (
            [(Place("body", str(name)), below) for name, below in value.items()]
            if not place.name and isinstance(value, Mapping)
            else [(place, value)]
        )
    ]


def _form_pairs(place: Place, value: Any) -> Iterator[styles.Pair]:
    """Follows the document's encoding object. Without one, a list of plain values repeats the name, and nested values
    get brackets."""
    if place.style or place.media_type:
        return styles.query_pairs(place, value)
    name = styles.encoded(place.name)
    if isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value):
        return ((name, styles.encoded(each)) for each in value)
    return styles.bracketed(name, value)


def _multipart(media_type: str, fields: Filled) -> tuple[str, bytes]:
    boundary = secrets.token_hex(16)
    parts = [part for place, value in fields for part in _parts(place, value)]
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts)
    return f"{media_type.partition(';')[0]}; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def _parts(place: Place, value: Any) -> Iterator[bytes]:
    values = value if isinstance(value, list) else [value]
    for each in values:
        if place.style == "file" or _is_file(each):
            yield _file(place, each)
        else:
            is_json = isinstance(each, (list, dict))
            yield _part(place.name, "", place.media_type or ("application/json" if is_json else ""), _utf8(each))


def _is_file(value: Any) -> bool:
    return isinstance(value, Mapping) and "content" in value and "filename" in value


def _file(place: Place, value: Any) -> bytes:
    media_type = place.media_type or "application/octet-stream"
    if not isinstance(value, Mapping):
        return _part(place.name, place.name, media_type, _utf8(value))
    content = value.get("content", "")
    data = _decoded(place.name, content) if value.get("base64") else _utf8(content)
    return _part(place.name, styles.text(value.get("filename") or place.name), media_type, data)


def _part(name: str, filename: str, media_type: str, data: bytes) -> bytes:
    file = f'; filename="{filename.translate(_IN_QUOTES)}"' if filename else ""
    head = f'Content-Disposition: form-data; name="{name.translate(_IN_QUOTES)}"{file}\r\n'
    kind = f"Content-Type: {media_type}\r\n" if media_type else ""
    return f"{head}{kind}\r\n".encode() + data


def _utf8(value: Any) -> bytes:
    return styles.text(value).encode()


def _decoded(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(styles.text(value), validate=True)
    except binascii.Error:
        raise InvalidArgument(
            f"{name} is not base64.",
            reason="invalid_base64",
            parameter=name,
            value=value,
            expected="bytes in base64 (RFC 4648), without line ends",
            suggestion=f"Encode the bytes of {name} in base64.",
        ) from None
