"""Previews: the fields that identify a record and its most important others (FR-015, FR-016, FR-018)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_protection.core import field_selection, projection
from context_protection.core.budget import dumps, length
from context_protection.core.shapes import Field, Shape
from context_protection.core.splitting import sentences

TEXT_CHARS = 240  # characters of a text in a preview, cut at the end of a sentence
NEVER_CUT = frozenset({int, float, bool, type(None)})
NESTED_CHARS = 1000  # characters of JSON; a longer object or array in a preview is replaced by its size


def rows(records: Sequence[Mapping[str, Any]], shape: Shape) -> list[dict[str, Any]]:
    """The records as rows of a condensed list. Built column by column for speed: a page has hundreds of cells."""
    names = [each.name for each in shape.row]
    columns = [_column(each, records) for each in shape.row]
    return (
        [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)] if names else [{}] * len(records)
    )


def _column(field: Field, records: Sequence[Mapping[str, Any]]) -> list[Any]:
    source = field.source
    is_plain = type(field) is Field and field.convert is None and "." not in source and source != "*"
    values = [record.get(source) for record in records] if is_plain else [field.read(record) for record in records]
    return [
        value
        if type(value) in NEVER_CUT or (type(value) is str and len(value) <= TEXT_CHARS)
        else shortened(value, source)
        for value in values
    ]


def preview(record: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """The record's preview. Long texts are cut at a sentence, and state their length and how to get the rest."""
    found = _read(record, shape.canonical.values())
    summary = {name: value for name, value in found.items() if value not in (None, "")}
    return {name: shortened(value, shape.canonical[name].source) for name, value in summary.items()}


def chosen(record: Mapping[str, Any], names: Sequence[str], shape: Shape) -> dict[str, Any]:
    """The preview by the policy's `names` and paths, with the identifying fields."""
    identifying = [name for name in shape.canonical if _identifies(name)]
    values = field_selection.selected(record, list(dict.fromkeys([*identifying, *names])), shape)
    return {name: shortened(value, shape.source(name)) for name, value in values.items() if value not in (None, "")}


def missing(record: Mapping[str, Any], shape: Shape, names: Sequence[str] = ()) -> list[str]:
    """The paths of preview fields, declared or chosen, that upstream's record lacks. Empty fields do exist."""
    sources = [shape.source(name) for name in names if name not in shape.section_names]
    sources = sources or [each.source for each in (*shape.row, *shape.preview)]
    return [source for source in sources if not projection.resolves(record, source)]


def _read(record: Mapping[str, Any], fields: Iterable[Field]) -> dict[str, Any]:
    return {each.name: each.read(record) for each in fields}


def _identifies(name: str) -> bool:
    lower = name.lower()
    return lower in {"id", "name", "title", "status", "state", "type"} or lower.endswith(("id", "name"))


def _is_nested(value: Any) -> bool:
    return isinstance(value, (dict, list))


def shortened(value: Any, path: str) -> Any:
    """A value as a preview shows it: a long text is clipped, a large object or array is replaced by its size."""
    if not _is_nested(value):
        return clipped(value, path)
    size = length(dumps(value))
    if size <= NESTED_CHARS:
        return value
    return f"…[{len(value):,} {'entries' if isinstance(value, list) else 'fields'}, {size:,} characters: fields={path}]"


def clipped(value: Any, path: str, limit: int = TEXT_CHARS) -> Any:
    """A text longer than `limit` characters as its first sentences with a visible mark; any other value unchanged."""
    if not isinstance(value, str) or len(value) <= limit:
        return value
    start = sentences.head(value, limit)
    return f"{start} …[+{len(value) - len(start):,} of {len(value):,} characters: fields={path}]"
