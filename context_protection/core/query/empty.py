"""Explains an empty list: how many rows each filter alone lets through, and which values resemble a requested one."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.folding import fold_for_search
from context_protection.core.query.aggregation import Aggregation, GroupKey, GroupMetric, Groups, Reduction
from context_protection.core.query.columns import QueryColumn
from context_protection.core.query.conditions import Condition, Conditions, Op
from context_protection.core.query.words import PARAMETER, SearchWords

MAX_FILTERS = 3  # filters whose rows are counted
MAX_NEAREST = 3
MAX_VALUES = 2000  # the most frequent values of a column, which are compared with the requested value
SIMILAR = 0.6  # the cutoff of difflib
COUNT = GroupMetric("count", Reduction.COUNT)


@dataclass(frozen=True)
class GivenFilter:
    """A filter of a call. `column`: None if it does not filter by a single column. `passing`: counts the rows that pass
    this filter alone."""

    parameter: str
    value: Any
    column: QueryColumn | None
    passing: Callable[[], int]


class Filterable(Protocol):
    """Rows that can be counted. `given`: the filters that the list's own parameters set. `unfiltered`: the rows without
    them."""

    @property
    def given(self) -> Sequence[GivenFilter]: ...

    @property
    def unfiltered(self) -> "Filterable": ...

    def filtered(self, wanted: Conditions) -> Any: ...

    def searched(self, words: SearchWords) -> Any: ...

    def grouped(self, aggregation: Aggregation) -> Groups: ...


def notes(rows: Filterable, wanted: Conditions, words: SearchWords | None) -> list[str]:
    """Explains why no row passes the list's own filters, the conditions `wanted` and the search `words` together. May
    query the rows."""
    every = rows.unfiltered
    searches = [] if words is None else [_as_search(PARAMETER, words, every)]
    counted = _counted([*searches, *rows.given, *(_as_filter(each, every) for each in wanted.every)])
    if not counted:
        return []
    found = [f"Rows that each filter alone lets through: {_listed(counted)}."]
    for each in [each for each, count in counted if count == 0]:
        if near := _nearest(each, every):
            found.append(f"{shown(each.parameter)}: nearest to {shown(each.value)!r} are {near}.")
        if each.parameter == PARAMETER and words:
            found += words.notes_of_each("Rows", lambda word: _passing(_as_search(word.text, word, every)))
    return found


def _counted(filters: Sequence[GivenFilter]) -> list[tuple[GivenFilter, int]]:
    """The first MAX_FILTERS filters, each with the number of rows that pass it alone."""
    counts = ((each, _passing(each)) for each in filters[:MAX_FILTERS])
    return [(each, count) for each, count in counts if count is not None]


def _passing(given: GivenFilter) -> int | None:
    """The number of rows that pass the filter; None if there are too many rows to count."""
    try:
        return given.passing()
    except InvalidArgument:
        return None


def _listed(counted: Sequence[tuple[GivenFilter, int]]) -> str:
    return ", ".join(f"{shown(each.parameter)} {count:,}" for each, count in counted)


def _as_search(name: str, words: SearchWords, rows: Filterable) -> GivenFilter:
    return GivenFilter(name, None, None, lambda: _count(rows.searched(words)))


def _as_filter(condition: Condition, rows: Filterable) -> GivenFilter:
    def passing() -> int:
        return _count(rows.filtered(Conditions((condition,))))

    return GivenFilter(condition.column.name, _text(condition), condition.column, passing)


def _text(condition: Condition) -> Any:
    return condition.value if condition.op in (Op.EQ, Op.CONTAINS) else None


def _count(rows: Filterable) -> int:
    (group,) = rows.grouped(Aggregation((), (COUNT,))).rows
    count: int = group["count"]
    return count


def _nearest(given: GivenFilter, rows: Filterable) -> str:
    """The values of the column that resemble the filter's text most, with their counts. "" if there are none, or if
    its values may not be shown."""
    if not isinstance(given.value, str) or given.column is None or given.column.only_where:
        return ""
    key = GroupKey("value", given.column)
    found: Sequence[Mapping[str, Any]] = []
    with suppress(InvalidArgument):  # too many rows to group
        found = rows.grouped(Aggregation((key,), (COUNT,), order=1, descending=True, limit=MAX_VALUES)).rows
    counts = {each["value"]: each["count"] for each in found if isinstance(each["value"], str)}
    return ", ".join(f"{shown(value)} ({counts[value]:,})" for value in _most_like(given.value, counts))


def _most_like(text: str, values: Iterable[str]) -> list[str]:
    """Equal values first (ignoring case and accents), then those that contain the text, then similar ones."""
    wanted, folded = fold_for_search(text), {value: fold_for_search(value) for value in values}
    same = [value for value, plain in folded.items() if plain == wanted]
    containing = [value for value, plain in folded.items() if wanted in plain and value not in same]
    close = difflib.get_close_matches(wanted, set(folded.values()), n=MAX_NEAREST, cutoff=SIMILAR)
    similar = [value for plain in close for value, each in folded.items() if each == plain]
    return list(dict.fromkeys([*same, *containing, *similar]))[:MAX_NEAREST]
