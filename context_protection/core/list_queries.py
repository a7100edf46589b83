"""Queries over a list: `where` and `search` filter its rows, `aggregate` returns totals instead of rows.

Models cannot count, add or filter long lists reliably; the source of the list can, without sending it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from context_protection.core.errors import shown
from context_protection.core.payloads import RowOptions, Rows
from context_protection.core.query import aggregation, conditions, currencies, empty
from context_protection.core.query.aggregation import NUMERIC, Aggregation, GroupKey, GroupMetric, Reduction
from context_protection.core.query.columns import Type
from context_protection.core.query.conditions import Conditions, Op
from context_protection.core.query.queryable import Queryable
from context_protection.core.query.words import SearchWords
from context_protection.core.rows import Loaded, MemoryRows

TEXTS = (
    "the values are texts, so they are neither added up nor compared with numbers. Call with format=handle, and use "
    "TRY_CAST(… AS DECIMAL(18,2)) in result_query."
)
AS_GROUPS = RowOptions(key="groups", condensable=False)


def run(rows: Rows, arguments: Mapping[str, Any], search: str | None = None) -> Rows:
    """Applies `where`, `search` and `aggregate`, in this order, to the rows. Raises InvalidArgument."""
    if not isinstance(rows, Queryable):
        return rows
    wanted = conditions.parse(arguments["where"], rows.queryable) if "where" in arguments else None
    requested = aggregation.parse(arguments["aggregate"], rows.queryable) if "aggregate" in arguments else None
    words = None if search is None else SearchWords.of(search)
    chosen = _chosen(rows, wanted or Conditions(), words)
    notes = _notes_on_texts(wanted or Conditions(), requested)
    if not requested and not notes and _notes_amounts_itself(chosen, rows, wanted or Conditions()):
        return cast(Rows, chosen)
    notes += _notes_on_amounts(rows, wanted or Conditions(), words)
    if requested:
        return _groups(chosen, requested, notes)
    return chosen.with_notes(notes) if notes or chosen.compared else cast(Rows, chosen)


def _chosen(rows: Queryable, wanted: Conditions, words: SearchWords | None) -> Queryable:
    """The rows that match. The conditions come first: a database can check them without reading whole rows."""
    matching = cast(Queryable, rows.filtered(wanted)) if len(wanted) else rows
    return cast(Queryable, matching.searched(words)) if words else matching


def _notes_on_texts(wanted: Conditions, requested: Aggregation | None) -> list[str]:
    """A note on undeclared fields that the query takes for numbers, and that hold only texts, such as prices."""
    compared = (each.column for each in wanted if each.type is Type.NUMBER and each.op is not Op.ISNULL)
    metrics = requested.metrics if requested else ()
    measured = (each.column for each in metrics if each.column and each.reduction in NUMERIC)
    undeclared = (each for each in (*compared, *measured) if each.type is Type.ANY)
    names = dict.fromkeys(str(shown(each.name)) for each in undeclared if each.sampled in (Type.TEXT, Type.MOMENT))
    return [f"{', '.join(names)}: {TEXTS}"] if names else []


def _notes_amounts_itself(chosen: Queryable, rows: Queryable, wanted: Conditions) -> bool:
    """Whether the notes that `chosen` adds when it is opened already cover all amounts."""
    return chosen.compared == rows.compared and not any(each.compares_amounts for each in wanted)


def _notes_on_amounts(rows: Queryable, wanted: Conditions, words: SearchWords | None) -> list[str]:
    """Notes on amounts that the order or a condition compares, if the rows compared have several currencies."""
    amounts = (*rows.compared, *(each.column for each in wanted if each.compares_amounts))
    compared = [each for each in amounts if rows.queryable.shows(each.unit)]
    if not compared:
        return []
    others = Conditions(tuple(each for each in wanted.every if not each.compares_amounts))
    among = _chosen(rows, others, words)
    notes: list[str] = []
    for name in dict.fromkeys(each.unit for each in compared):
        key = GroupKey(name, rows.queryable.resolve(name, "order"))
        units = Aggregation((key,), (GroupMetric("count", Reduction.COUNT),), limit=currencies.MAX_NAMED + 1)
        found = {each[name] for each in among.grouped(units).rows} - {None}
        notes += currencies.note((each.name for each in compared if each.unit == name), name, found)
    return notes


def about_no_rows(rows: Rows, arguments: Mapping[str, Any], search: str | None = None) -> list[str]:
    """Notes on the filters of a list that `run` has found to be empty."""
    if not isinstance(rows, Queryable):
        return []
    wanted = conditions.parse(arguments["where"], rows.queryable) if "where" in arguments else Conditions()
    return empty.notes(rows, wanted, None if search is None else SearchWords.of(search))


def resume(rows: Rows, arguments: Mapping[str, Any]) -> Rows:
    """The rows for a later page of a snapshot. The query is not run again, because the snapshot stores its result, and
    because it could fail now: rows may have been added, or a queried field may be gone."""
    return MemoryRows((), options=AS_GROUPS) if "aggregate" in arguments and isinstance(rows, Queryable) else rows


def _groups(rows: Queryable, requested: Aggregation, about: Sequence[str]) -> MemoryRows:
    """`about`: notes on the rows that are grouped."""

    def load() -> Loaded:
        groups = rows.grouped(requested)
        note = rows.note()
        notes = [*note.get("notes", ()), *about, *groups.notes]
        return Loaded(groups.rows, {**note, **({"notes": notes} if notes else {})})

    return MemoryRows(load, options=AS_GROUPS)
