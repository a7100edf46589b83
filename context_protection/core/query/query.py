"""Queries over a list: `where` filters its rows, `aggregate` returns totals instead of rows.

Models cannot count, add or filter long lists reliably; the source of the list can, without sending it.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from context_protection.core.payloads import Manner, Rows
from context_protection.core.query import aggregates, conditions
from context_protection.core.query.aggregates import Aggregation, Groups
from context_protection.core.query.columns import AskedColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.rows import Loaded, MemoryRows

AS_GROUPS = Manner(key="groups", condensable=False)


@runtime_checkable
class Askable(Protocol):
    """Rows that can run queries where they are stored."""

    def note(self) -> Mapping[str, Any]:
        """Remarks about all the rows, for `meta` of the first response."""

    @property
    def askable(self) -> AskedColumns: ...

    def filtered(self, wanted: Conditions) -> Rows: ...

    def grouped(self, asked: Aggregation) -> Groups: ...


def answered(rows: Rows, arguments: Mapping[str, Any]) -> Rows:
    """Applies `where`, then `aggregate`, to the rows. Raises InvalidArgument."""
    if not isinstance(rows, Askable):
        return rows
    wanted = conditions.parse(arguments["where"], rows.askable) if "where" in arguments else None
    aggregation = aggregates.parse(arguments["aggregate"], rows.askable) if "aggregate" in arguments else None
    chosen = rows.filtered(wanted) if wanted else rows
    return _groups(chosen, aggregation) if aggregation else chosen


def taken_up(rows: Rows, arguments: Mapping[str, Any]) -> Rows:
    """The same for a later page of a snapshot. The snapshot stores the chosen rows, so the query is not run again: it
    may fail by now, because there are more rows, or none that has a queried name."""
    return MemoryRows((), manner=AS_GROUPS) if "aggregate" in arguments and isinstance(rows, Askable) else rows


def _groups(rows: Rows, aggregation: Aggregation) -> MemoryRows:
    assert isinstance(rows, Askable)

    def load() -> Loaded:
        groups = rows.grouped(aggregation)
        note = rows.note()
        notes = [*note.get("notes", ()), *groups.notes]
        return Loaded(groups.rows, {**note, **({"notes": notes} if notes else {})})

    return MemoryRows(load, manner=AS_GROUPS)
