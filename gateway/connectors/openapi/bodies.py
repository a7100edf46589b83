"""Request bodies: the media type that is sent, and the arguments that the body is made of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.connectors.openapi.description import BodyForm, BodyKind, Place
from gateway.connectors.openapi.kinds import as_mapping, kinds
from gateway.connectors.openapi.parameters import Parameter
from gateway.connectors.openapi.references import References
from gateway.connectors.openapi.schemas import Leaning

_JSON = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?json", re.IGNORECASE)
_FLATTENED = frozenset({BodyKind.JSON, BodyKind.FORM, BodyKind.MULTIPART})
_FILE = {"type": ["string", "object"]}
_FILE_WORDS = 'Its text, or {"filename":…,"content":…,"base64":true}.'


@dataclass(frozen=True, slots=True)
class Body:
    """`needed`: the properties, by upstream's names, that are required whenever the body is sent."""

    form: BodyForm
    parameters: tuple[Parameter, ...]
    needed: frozenset[str] = frozenset()


def read(references: References, node: Any, leaning: Leaning) -> Body | None:
    """The body of an operation; None if it has no body."""
    whole = references.resolved(node)
    content = as_mapping(whole.get("content"))
    if not content:
        return None
    media_type = min(content, key=lambda each: (list(BodyKind).index(_kind(each)), "patch" in each))
    kind, media = _kind(media_type), references.resolved(content[media_type])
    schema, required = media.get("schema", {}), whole.get("required") is True
    properties, needed = leaning.properties(schema) if kind in _FLATTENED else ({}, [])
    sent = _sent_as(kind, media_type)
    if not properties or "array" in kinds(references.merged(schema).schema):
        return Body(BodyForm(kind, sent, False, required), (_whole(kind, schema, whole, required),))
    encodings = as_mapping(media.get("encoding"))
    parameters = tuple(
        Parameter(
            _place(references, kind, name, each, encodings.get(name)),
            _schema(references, kind, each),
            required=name in needed and required,
        )
        for name, each in properties.items()
    )
    return Body(BodyForm(kind, sent, True, required), parameters, frozenset(needed))


def _kind(media_type: str) -> BodyKind:
    plain = media_type.partition(";")[0].strip().lower()
    if _JSON.fullmatch(plain) or plain == "*/*":
        return BodyKind.JSON
    if plain == "application/x-www-form-urlencoded":
        return BodyKind.FORM
    if plain.startswith("multipart/"):
        return BodyKind.MULTIPART
    return BodyKind.TEXT if plain.startswith("text/") or plain.endswith(("xml", "yaml")) else BodyKind.BINARY


def _sent_as(kind: BodyKind, media_type: str) -> str:
    """The media type to send. A range such as */* is replaced by the most widely understood type within it."""
    if "*" not in media_type:
        return media_type.strip()
    return {BodyKind.JSON: "application/json", BodyKind.TEXT: "text/plain"}.get(kind, "application/octet-stream")


def _whole(kind: BodyKind, schema: Any, node: Mapping[str, Any], required: bool) -> Parameter:
    described = {key: node[key] for key in ("description",) if node.get(key)}
    if kind is BodyKind.TEXT:
        argument_schema: dict[str, Any] = {"type": "string", **described}
    elif kind is BodyKind.BINARY:
        argument_schema = {"type": "string", "description": "The bytes, in base64."}
    else:
        argument_schema = {**described, "allOf": [schema]}
    return Parameter(Place("body", ""), argument_schema, required)


def _schema(references: References, kind: BodyKind, schema: Any) -> Mapping[str, Any]:
    if kind is BodyKind.MULTIPART and _is_file(references, schema):
        own = references.merged(schema).schema.get("description")
        return {**_FILE, "description": own if isinstance(own, str) and own else _FILE_WORDS}
    return schema if isinstance(schema, Mapping) else {}


def _place(references: References, kind: BodyKind, name: str, schema: Any, encoding: Any) -> Place:
    if kind is BodyKind.JSON:
        return Place("body", name)
    if kind is BodyKind.MULTIPART and _is_file(references, schema):
        return Place("body", name, "file", media_type=_content_type(encoding))
    how = as_mapping(encoding)
    style = how.get("style") if how.get("style") in ("form", "deepObject", "spaceDelimited", "pipeDelimited") else ""
    explode = how.get("explode")
    return Place(
        location="body",
        name=name,
        style=style or "",
        explode=explode if isinstance(explode, bool) else style in ("", "form", "deepObject"),
        allow_reserved=False,
        media_type="" if style else _content_type(encoding),
    )


def _content_type(encoding: Any) -> str:
    """The first media type that the encoding allows; empty if it is not a valid one."""
    given = str(as_mapping(encoding).get("contentType") or "").partition(",")[0].strip()
    return given if re.fullmatch(r"[\w.+-]+/[\w.+-]+(?:; ?[\w=.-]+)*", given, re.ASCII) else ""


def _is_file(references: References, schema: Any) -> bool:
    whole = references.merged(schema).schema
    items = references.merged(whole.get("items")).schema
    return any(
        each.get("format") in ("binary", "base64") or each.get("type") == "file" or "contentMediaType" in each
        for each in (whole, items)
    )
