"""Which operation opens a row of a list by itself: GET /orders and GET /orders/{orderId} belong together."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi.description import DocumentedOperation, Opening
from gateway.connectors.openapi.parameters import TEMPLATE
from gateway.connectors.openapi.tool_names import singular, words

_LAST = re.compile(r"(.*)/\{([^{}]+)\}(\.\w+)?")  # a path that ends with a parameter, as in /orders/{id}.json
_KEYS = frozenset({"id", "uuid", "guid", "key", "number", "slug", "code", "sku"})  # words for what identifies a thing
_SCALARS = frozenset({"string", "integer", "number", "null"})


def linked(operations: Sequence[DocumentedOperation]) -> Iterator[DocumentedOperation]:
    """Each as it is; a list with what opens its rows, where the document tells."""
    records = {above: each for each in operations if each.is_safe and (above := _list_of(each)) is not None}
    for each in operations:
        record = records.get(_alike(each.path)) if each.kind is Kind.LIST else None
        opening = _opening(each, record) if record else None
        yield replace(each, opened_by=opening) if opening else each


def _list_of(operation: DocumentedOperation) -> str | None:
    """The path of the list that its record would be a row of, as `_alike` writes it."""
    match = _LAST.fullmatch(operation.path.rstrip("/"))
    is_one = operation.kind in (Kind.RECORD, Kind.TEXT)
    return _alike(match[1] + (match[3] or "")) if match and is_one else None


def _alike(path: str) -> str:
    """However its parameters are called."""
    return TEMPLATE.sub("{}", path.rstrip("/"))


def _opening(listing: DocumentedOperation, record: DocumentedOperation) -> Opening | None:
    """None where the row's key cannot be told, or where the record wants to know what a call of the list does not."""
    *above, last = TEMPLATE.findall(record.path)
    given = TEMPLATE.findall(listing.path)
    if len(above) != len(given):  # "{}" stands in one of them as it is written
        return None
    arguments, own = _in_path(record), _in_path(listing)
    shared = {arguments[theirs]: own[ours] for theirs, ours in zip(above, given, strict=True)}
    argument = arguments[last]
    others = [name for name in record.required if name != argument and name not in shared]
    key = _key(last, listing, record.parameters[argument])
    if key is None or not set(others) <= set(listing.required):
        return None
    return Opening(record.key, argument, key, {**shared, **{name: name for name in others}})


def _in_path(operation: DocumentedOperation) -> dict[str, str]:
    """Its arguments by upstream's names."""
    return {place.name: name for name, place in operation.places.items() if place.location == "path"}


def _key(parameter: str, listing: DocumentedOperation, wanted: Mapping[str, Any]) -> str | None:
    """The field of a row that the parameter of its record is: `number` for {issue_number}, `id` for {order}."""
    properties = (listing.record_schema or {}).get("properties", {})
    fields = {"".join(words(name)): name for name, schema in properties.items() if _is_key(schema, wanted)}
    own, noun = words(parameter), _noun(listing.path)
    is_noun = own == noun
    candidates = ["".join(own)]
    if is_noun:
        # What a thing is called by is its id; where that is of another type, it may as well be its name.
        candidates += ["id" if _types(properties.get("id", {})) == _types(wanted) or "id" not in properties else ""]
        candidates += ["name"] if "id" not in properties else []
    elif own[: len(noun)] == noun:
        candidates.append("".join(own[len(noun) :]))
    if own[-1:] and own[-1] in _KEYS:
        candidates.append(own[-1])
    return next((fields[each] for each in candidates if each in fields), None)


def _noun(path: str) -> list[str]:
    """ "order" of /v1/orders"""
    last = path.rstrip("/").rpartition("/")[2]
    found = words(re.sub(r"\.\w+$", "", last))
    return [*found[:-1], *map(singular, found[-1:])]


def _is_key(schema: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether its values can be sent as what is wanted: every number has a text, but not the other way."""
    found, asked = _types(schema), _types(wanted)
    return bool(found) and found <= _SCALARS and (not asked or "string" in asked or bool(found & asked))


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    said = schema.get("type", ())
    return frozenset([said] if isinstance(said, str) else said)
