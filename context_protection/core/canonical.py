"""Whole records of declared types: canonical names and values beside upstream's other fields, without empty fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.fields import Field
from context_protection.core.shapes import NOTHING, Shape


@dataclass(frozen=True, slots=True)
class WholeRecord:
    """A record as it is sent. `empty`: the number of null and empty fields that were left out, at any depth."""

    value: dict[str, Any]
    empty: int = 0


def whole(record: Mapping[str, Any], shape: Shape) -> WholeRecord:
    """The whole record. It equals upstream's object unless its type declares canonical records."""
    if not shape.is_canonical:
        return WholeRecord(dict(record))
    return without_empty_fields(renamed(record, shape))


def renamed(record: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """The record with canonical names and values, in upstream's order. Another field of upstream's that has a canonical
    name is left out; `fields=raw` has it."""
    if not shape.is_canonical:
        return dict(record)
    by_source, names = shape.by_source, shape.fields
    result: dict[str, Any] = {}
    for name, value in record.items():
        fields = by_source.get(name)
        if fields is not None:
            for field in fields:
                result[field.name] = _value(field, value)
        elif name not in names:
            result[name] = value
    for field in shape.fields.values():  # `convert` may supply a value for a field that upstream lacks
        if field.convert and field.source not in record and (value := field.convert(None)) is not None:
            result[field.name] = value
    return result


def note(empty: int) -> dict[str, int]:
    """`meta.emptyFields`: how many empty fields were left out."""
    return {"emptyFields": empty} if empty else {}


def _value(field: Field, value: Any) -> Any:
    return field.convert(value) if field.convert else value


def without_empty_fields(record: Mapping[str, Any]) -> WholeRecord:
    remaining: dict[str, Any] = {}
    empty = 0
    for name, value in record.items():
        pruned, below = _pruned(value)
        empty += below
        if pruned not in NOTHING:
            remaining[name] = pruned
        elif value in NOTHING:
            empty += 1
    return WholeRecord(remaining, empty)


def _pruned(value: Any) -> tuple[Any, int]:
    """A value without the empty fields of its objects, and their number. Elements of lists stay."""
    if isinstance(value, dict):
        whole_value = without_empty_fields(value)
        return whole_value.value, whole_value.empty
    if isinstance(value, list):
        pruned = [_pruned(each) for each in value]
        return [each for each, _ in pruned], sum(empty for _, empty in pruned)
    return value, 0
