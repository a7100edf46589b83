"""Previews of records and rows: the fields that identify them and the most important others (FR-015, FR-016, FR-018).

A preview has the fields that ops chose (`summary_fields`), else those that the shape declares. Each value is shortened
by the reduction for its type (see REDUCTIONS).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from context_protection.core import extracts, field_selection, projection
from context_protection.core.budget import dumps, dumps_each, length
from context_protection.core.inference import proposals
from context_protection.core.policy import Policy
from context_protection.core.shapes import Shape

TEXT_CHARS = 240  # characters of a text in a preview
NESTED_CHARS = 1000  # characters of JSON; a longer object or array in a preview is replaced by its size


def preview(record: Mapping[str, Any], shape: Shape, policy: Policy, *, keeps: bool = True) -> dict[str, Any]:
    """The record's preview, without nulls and empty texts. A shortened value includes how to get the rest. `keeps`:
    fields that are declared to be kept are not shortened."""
    names = field_selection.names_in(policy.summary_fields)
    if names:
        identifying = [name for name in shape.canonical if _identifies(name)]
        values = dict(field_selection.selected(record, list(dict.fromkeys([*identifying, *names])), shape).value)
    else:
        values = shape.reader.values(record)
    if None in values.values() or "" in values.values():
        values = {name: value for name, value in values.items() if value is not None and value != ""}
    by_type, kept = _BY_TYPE, shape.kept if keeps else ()
    for name, value in values.items():
        if (kind := type(value)) is str and len(value) <= TEXT_CHARS:
            continue  # true of most values
        if (reduction := by_type[kind]) is not None and name not in kept:
            values[name] = reduction(value, name, policy)
    return values


def rows(records: Sequence[dict[str, Any]], shape: Shape, policy: Policy) -> list[dict[str, Any]]:
    """The records as rows of a condensed list, without the fields that its shape omits in lists. Fields that the shape
    does not declare are inferred from the records."""
    listed = [shape.as_row(record)[0] for record in records] if shape.withheld_in_lists else records
    if field_selection.names_in(policy.summary_fields):
        shape = proposals.completed(shape, listed)
        return [preview(record, shape, policy) for record in listed]
    reader = proposals.with_rows(shape, listed).row_reader
    found = zip(reader.columns(listed), reader.names, strict=True)
    return _rows_of(reader.names, [_reduced_all(values, name, policy) for values, name in found], len(listed))


@dataclass(frozen=True, slots=True)
class CondensedCell:
    """A cell of a condensed row: its position in the tuple of values, and the path for requesting the whole value."""

    position: int
    name: str
    path: str
    convert: Callable[[Any], Any] | None = None


def from_tuples(
    values: Sequence[tuple[Any, ...]], cells: Sequence[CondensedCell], policy: Policy
) -> list[dict[str, Any]]:
    """Condensed rows of `reduced` values."""
    if not values:
        return []
    columns = list(zip(*values, strict=True))
    converted = [(each, columns[each.position]) for each in cells]
    shown = [
        _reduced_all(list(map(cell.convert, column)) if cell.convert else column, cell.path, policy)
        for cell, column in converted
    ]
    return _rows_of([each.name for each in cells], shown, len(values))


def _rows_of(names: Sequence[str], columns: Sequence[Sequence[Any]], count: int) -> list[dict[str, Any]]:
    """The `count` rows of these columns, in a loop in C."""
    return list(map(dict, map(zip, repeat(names), zip(*columns, strict=True)))) if names else [{}] * count


def missing(record: Mapping[str, Any], shape: Shape, policy: Policy, shown: Iterable[str]) -> list[str]:
    """The paths of preview fields, declared or chosen, that upstream's record lacks. Empty fields are not missing.
    `shown`: the names of the fields in its preview."""
    names = field_selection.names_in(policy.summary_fields)
    sources = [shape.source(name) for name in names if name not in shape.section_names]
    if not sources:
        return shape.reader.missing(record, shown)
    return [each for each in sources if not projection.resolves(record, each)]


def _identifies(name: str) -> bool:
    lower = name.lower()
    return lower in {"id", "name", "title", "status", "state", "type"} or lower.endswith(("id", "name"))


# -- Reductions of a value --------------------------------------------------------------------------


def reduced(value: Any, path: str, policy: Policy) -> Any:
    """A value as shown in previews: shortened by the reduction for its type, or unchanged if there is none."""
    reduction = _BY_TYPE[type(value)]
    return value if reduction is None else reduction(value, path, policy)


def _reduced_all(values: Sequence[Any], path: str, policy: Policy) -> Sequence[Any]:
    """All values of a column. Most columns have nothing to shorten, so no function is called for each value."""
    kinds = set(filter(_BY_TYPE.__getitem__, set(map(type, values))))  # those that have a reduction
    are_short = kinds == {str} and _longest_text(values) <= TEXT_CHARS
    if not kinds or are_short or (kinds <= {dict, list} and _are_small(values)):
        return values
    return [reduced(each, path, policy) for each in values]


def _longest_text(values: Sequence[Any]) -> int:
    texts = values if set(map(type, values)) == {str} else [each for each in values if type(each) is str]
    return max(map(len, texts))


def _are_small(values: Sequence[Any]) -> bool:
    """Whether `sized` surely leaves all the objects and lists among the values as they are."""
    return max(map(len, dumps_each(values))) <= NESTED_CHARS


def clipped(text: str, path: str, policy: Policy) -> str:
    """Replaces a text longer than TEXT_CHARS with an extract, and a mark that says how much is missing."""
    if len(text) <= TEXT_CHARS:
        return text
    shown = extracts.extract(text, TEXT_CHARS)
    return f"{shown} …[+{extracts.missing(text, shown)}: fields={path}]"


def sized(value: Mapping[str, Any] | Sequence[Any], path: str, policy: Policy) -> Any:
    """Replaces a large object or array with its size."""
    size = length(dumps(value))
    if size <= NESTED_CHARS:
        return value
    return f"…[{len(value):,} {'entries' if isinstance(value, list) else 'fields'}, {size:,} characters: fields={path}]"


# Returns a smaller form of a value, which includes how to get the whole value at this path.
Reduction = Callable[[Any, str, Policy], Any]
REDUCTIONS: Mapping[type, Reduction] = {str: clipped, dict: sized, list: sized}


class _ByType(dict[type, Reduction | None]):
    """The reduction for each type of value, looked up once per type. None: values of this type stay unchanged."""

    def __missing__(self, kind: type) -> Reduction | None:
        self[kind] = next((reduction for each, reduction in REDUCTIONS.items() if issubclass(kind, each)), None)
        return self[kind]


_BY_TYPE = _ByType()
