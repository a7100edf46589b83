"""The parameters of an operation: which of them are arguments, and where each goes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.connectors.openapi.description import Place
from gateway.connectors.openapi.kinds import as_list, as_mapping
from gateway.connectors.openapi.references import References

STYLES: Mapping[str, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# Headers of the connection, of Sluice itself, or of authentication: callers cannot set them.
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


def read(
    references: References, path: str, given: Iterable[Any], credentials: Iterable[tuple[str, str]]
) -> tuple[list[Parameter], list[str]]:
    """The parameters, and warnings. `given` are those of the path item, then those of the operation: a later one
    replaces an earlier one with the same place and name. `credentials`: the places (location, name) of credentials,
    which are no arguments."""
    warnings: list[str] = []
    known = {(location, name.lower()) for location, name in credentials}
    found: dict[tuple[str, str], Parameter] = {}
    for each in given:
        node = references.resolved(each)
        location, name = str(node.get("in")), str(node.get("name") or "")
        if not name or location not in STYLES:
            warnings.append(f"left out a parameter that is no parameter: {_shown(node)}")
        elif location == "header" and _is_protected(name):
            warnings += [] if name.lower() in _SILENT else [f"left out the header {name[:60]}, which no caller sets"]
        elif (location, name.lower()) not in known:
            found[location, name] = _read(references, node, location, name)
    return _ordered(path, found, warnings), warnings


def _read(references: References, node: Mapping[str, Any], location: str, name: str) -> Parameter:
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
    """Some documents have the type beside the name, as in Swagger 2."""
    schema = {
        key: node[key] for key in ("type", "enum", "items", "format", "default", "minimum", "maximum") if key in node
    }
    return schema or None


def _ordered(path: str, found: Mapping[tuple[str, str], Parameter], warnings: list[str]) -> list[Parameter]:
    """The path's parameters first, in the order of its template and including undeclared ones; then the others."""
    names = list(dict.fromkeys(TEMPLATE.findall(path)))
    undeclared = [name for name in names if ("path", name) not in found]
    superfluous = [name for location, name in found if location == "path" and name not in names]
    warnings += [f"{{{name[:60]}}} of the path is not declared: taken for a text" for name in undeclared]
    warnings += [f"left out {name[:60]}, which the path does not have" for name in superfluous]
    in_path = [
        found.get(("path", name)) or Parameter(Place("path", name, "simple"), {"type": "string"}, required=True)
        for name in names
    ]
    return in_path + [each for (location, _), each in found.items() if location != "path"]


def both(path_item: Mapping[str, Any], operation: Mapping[str, Any]) -> list[Any]:
    return [*as_list(path_item.get("parameters")), *as_list(operation.get("parameters"))]


def _is_protected(name: str) -> bool:
    return name.lower() in _PROTECTED_HEADERS or name.lower().startswith(_PROTECTED_PREFIXES)


def _shown(node: Mapping[str, Any]) -> str:
    return f"{str(node.get('name', '?'))[:60]} in {str(node.get('in', '?'))[:20]}"
