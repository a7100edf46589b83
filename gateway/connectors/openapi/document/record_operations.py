"""Finds the operation that fetches one row of a list: GET /orders/{orderId} belongs to GET /orders."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_protection.core.policy import Kind
from gateway.catalog.plurals import singular
from gateway.connectors.openapi.document.arguments import TEMPLATE
from gateway.connectors.openapi.document.description import DocumentedOperation, RowLookup
from gateway.connectors.openapi.document.wording import words

_LAST = re.compile(r"(.*)/\{([^{}]+)\}(\.\w+)?")  # a path that ends with a parameter, as in /orders/{id}.json
_KEYS = frozenset({"id", "uuid", "guid", "key", "number", "slug", "code", "sku"})  # words in the names of keys
_SCALARS = frozenset({"string", "integer", "number", "null"})


def linked(operations: Sequence[DocumentedOperation]) -> Iterator[DocumentedOperation]:
    """Yields the operations. A list gets `opened_by` if the document has an operation that fetches one of its rows."""
    records = {above: each for each in operations if each.is_safe and (above := _list_of(each)) is not None}
    for each in operations:
        record = records.get(_without_names(each.path)) if each.kind is Kind.LIST else None
        opening = _opening(each, record) if record else None
        yield replace(each, opened_by=opening) if opening else each


def _list_of(operation: DocumentedOperation) -> str | None:
    """The path of the list that contains this record, in the form that `_without_names` returns."""
    match = _LAST.fullmatch(operation.path.rstrip("/"))
    is_one = operation.kind in (Kind.RECORD, Kind.TEXT)
    return _without_names(match[1] + (match[3] or "")) if match and is_one else None


def _without_names(path: str) -> str:
    """The path without the names of its parameters, for comparisons."""
    return TEMPLATE.sub("{}", path.rstrip("/"))


def _opening(listing: DocumentedOperation, record: DocumentedOperation) -> RowLookup | None:
    """None if the row's key cannot be found, or if the record requires an argument that the list's call does not."""
    *above, last = TEMPLATE.findall(record.path)
    given = TEMPLATE.findall(listing.path)
    if len(above) != len(given):  # one of the paths has a literal "{}"
        return None
    arguments, own = _in_path(record), _in_path(listing)
    shared = {arguments[theirs]: own[ours] for theirs, ours in zip(above, given, strict=True)}
    argument = arguments[last]
    others = [name for name in record.required if name != argument and name not in shared]
    key = _key(last, listing, record.parameters[argument])
    if key is None or not set(others) <= set(listing.required):
        return None
    return RowLookup(record.key, argument, key, {**shared, **{name: name for name in others}})


def _in_path(operation: DocumentedOperation) -> dict[str, str]:
    """Maps upstream's names of the path arguments to ours."""
    return {place.name: name for name, place in operation.places.items() if place.location == "path"}


def _key(parameter: str, listing: DocumentedOperation, wanted: Mapping[str, Any]) -> str | None:
    """The row's field that holds the value of the record's parameter: `number` for {issue_number}, `id` for {order}."""
    properties = (listing.record_schema or {}).get("properties", {})
    fields = {"".join(words(name)): name for name, schema in properties.items() if _is_key(schema, wanted)}
    own, noun = words(parameter), _noun(listing.path)
    is_noun = own == noun
    candidates = ["".join(own)]
    if is_noun:
        # A parameter named like the noun is its id, unless the id has another type: the parameter may then be a name.
        candidates += ["id" if _types(properties.get("id", {})) == _types(wanted) or "id" not in properties else ""]
        candidates += ["name"] if "id" not in properties else []
    elif own[: len(noun)] == noun:
        candidates.append("".join(own[len(noun) :]))
    if own[-1:] and own[-1] in _KEYS:
        candidates.append(own[-1])
    return next((fields[each] for each in candidates if each in fields), None)


def _noun(path: str) -> list[str]:
    """The words of the path's last segment, in the singular: ["order"] for /v1/orders."""
    last = path.rstrip("/").rpartition("/")[2]
    found = words(re.sub(r"\.\w+$", "", last))
    return [*found[:-1], *map(singular, found[-1:])]


def _is_key(schema: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether values of `schema` can be sent for `wanted`: a number can be sent as a string, but not a string as a
    number."""
    found, expected = _types(schema), _types(wanted)
    return bool(found) and found <= _SCALARS and (not expected or "string" in expected or bool(found & expected))


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    declared = schema.get("type", ())
    return frozenset([declared] if isinstance(declared, str) else declared)
