"""An operation's arguments, from its parameters and its request body, and where each goes in the request."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.connectors.openapi.document.description import BodyForm, BodyKind, Place
from gateway.connectors.openapi.document.kinds import as_list, as_mapping, kinds
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.schemas import Leaning

# -- Parameters -------------------------------------------------------------------------------------

STYLES: Mapping[str, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# Callers cannot set these headers: they belong to the connection, to Sluice or to authentication.
_PROTECTED = (
    "accept accept-charset accept-encoding authorization connection content-encoding content-length content-type "
    "cookie expect forwarded host keep-alive origin referer set-cookie te trailer transfer-encoding upgrade user-agent "
    "via x-real-ip"
)
_PROTECTED_HEADERS = frozenset(_PROTECTED.split())
_PROTECTED_PREFIXES = ("proxy-", "x-forwarded-", "sec-")
_SILENT = frozenset({"accept", "authorization", "content-type", "user-agent"})  # Sluice sets these itself
TEMPLATE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`schema` is as documented, with the parameter's own description."""

    place: Place
    schema: Mapping[str, Any]
    required: bool

    @property
    def name(self) -> str:
        return self.place.name


def read_parameters(
    references: References, path: str, given: Iterable[Any], credentials: Iterable[tuple[str, str]]
) -> tuple[list[Parameter], list[str]]:
    """Returns the parameters and warnings. `given`: the parameters of the path item, then of the operation; a later one
    replaces an earlier one with the same place and name. `credentials`: where credentials go, as (location, name);
    these are not arguments."""
    warnings: list[str] = []
    known = {(location, name.lower()) for location, name in credentials}
    found: dict[tuple[str, str], Parameter] = {}
    for each in given:
        node = references.resolved(each)
        location, name = str(node.get("in")), str(node.get("name") or "")
        if not name or location not in STYLES:
            warnings.append(f"left out an invalid parameter: {_shown(node)}")
        elif location == "header" and _is_protected(name):
            warnings += (
                [] if name.lower() in _SILENT else [f"left out the header {name[:60]}, which callers cannot set"]
            )
        elif (location, name.lower()) not in known:
            found[location, name] = _parameter(references, node, location, name)
    return _ordered(path, found, warnings), warnings


def _parameter(references: References, node: Mapping[str, Any], location: str, name: str) -> Parameter:
    media_type, content = next(iter(as_mapping(node.get("content")).items()), ("", {}))
    schema = references.resolved(content).get("schema") if media_type else node.get("schema", _as_in_swagger(node))
    style = node.get("style")
    style = style if style in STYLES[location] else STYLES[location][0]
    explode = node.get("explode")
    place = Place(
        location=location,
        name=name,
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        allow_reserved=node.get("allowReserved") is True,
        media_type=media_type,
    )
    own = {key: node[key] for key in ("description", "deprecated") if node.get(key)}
    whole = {**own, "allOf": [schema]} if isinstance(schema, Mapping) else {**own, "type": "string"}
    return Parameter(place, whole, location == "path" or node.get("required") is True)


def _as_in_swagger(node: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Some documents put the type next to the name, as Swagger 2 does."""
    schema = {
        key: node[key] for key in ("type", "enum", "items", "format", "default", "minimum", "maximum") if key in node
    }
    return schema or None


def _ordered(path: str, found: Mapping[tuple[str, str], Parameter], warnings: list[str]) -> list[Parameter]:
    """The path's parameters first, in the order of its template and including undeclared ones; then the others."""
    names = list(dict.fromkeys(TEMPLATE.findall(path)))
    undeclared = [name for name in names if ("path", name) not in found]
    superfluous = [name for location, name in found if location == "path" and name not in names]
    warnings += [f"{{{name[:60]}}} of the path is not declared: treated as a string" for name in undeclared]
    warnings += [f"left out {name[:60]}, which the path does not have" for name in superfluous]
    in_path = [
        found.get(("path", name)) or Parameter(Place("path", name, "simple"), {"type": "string"}, required=True)
        for name in names
    ]
    return in_path + [each for (location, _), each in found.items() if location != "path"]


def declared(path_item: Mapping[str, Any], operation: Mapping[str, Any]) -> list[Any]:
    return [*as_list(path_item.get("parameters")), *as_list(operation.get("parameters"))]


def _is_protected(name: str) -> bool:
    return name.lower() in _PROTECTED_HEADERS or name.lower().startswith(_PROTECTED_PREFIXES)


def _shown(node: Mapping[str, Any]) -> str:
    return f"{str(node.get('name', '?'))[:60]} in {str(node.get('in', '?'))[:20]}"


# -- Request bodies ---------------------------------------------------------------------------------

_JSON = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?json", re.IGNORECASE)
_FLATTENED = frozenset({BodyKind.JSON, BodyKind.FORM, BodyKind.MULTIPART})
_FILE = {"type": ["string", "object"]}
_FILE_WORDS = 'Its text, or {"filename":…,"content":…,"base64":true}.'


@dataclass(frozen=True, slots=True)
class RequestBody:
    """`needed`: the upstream names of the properties that are required whenever the body is sent."""

    form: BodyForm
    parameters: tuple[Parameter, ...]
    needed: frozenset[str] = frozenset()


def read_body(references: References, node: Any, leaning: Leaning) -> RequestBody | None:
    """The request body; None if the operation has none."""
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
        return RequestBody(BodyForm(kind, sent, False, required), (_whole(kind, schema, whole, required),))
    encodings = as_mapping(media.get("encoding"))
    parameters = tuple(
        Parameter(
            _place(references, kind, name, each, encodings.get(name)),
            _schema(references, kind, each),
            required=name in needed and required,
        )
        for name, each in properties.items()
    )
    return RequestBody(BodyForm(kind, sent, True, required), parameters, frozenset(needed))


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
    """The media type to send. A range such as */* is replaced by the most widely supported type within it."""
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
    """The first media type that the encoding allows; empty if it is missing or invalid."""
    given = str(as_mapping(encoding).get("contentType") or "").partition(",")[0].strip()
    return given if re.fullmatch(r"[\w.+-]+/[\w.+-]+(?:; ?[\w=.-]+)*", given, re.ASCII) else ""


def _is_file(references: References, schema: Any) -> bool:
    whole = references.merged(schema).schema
    items = references.merged(whole.get("items")).schema
    return any(
        each.get("format") in ("binary", "base64") or each.get("type") == "file" or "contentMediaType" in each
        for each in (whole, items)
    )
