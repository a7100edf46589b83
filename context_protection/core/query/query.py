"""Ask instead of page: `where` chooses a list's rows, `aggregate` answers with totals in their place (design 5).

Models cannot count, add or filter long lists; the source of the list can, without sending it.
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
    """Rows that answer questions where they are kept."""

    def note(self) -> Mapping[str, Any]:
        """What the first answer's `meta` says of all of them."""

    @property
    def askable(self) -> AskedColumns: ...

    def filtered(self, wanted: Conditions) -> Rows: ...

    def grouped(self, asked: Aggregation) -> Groups: ...


def answered(rows: Rows, arguments: Mapping[str, Any]) -> Rows:
    """The rows that `where` asks for, or the groups of them that `aggregate` asks for. Raises InvalidArgument."""
    if not isinstance(rows, Askable):
        return rows
    wanted = conditions.parse(arguments["where"], rows.askable) if "where" in arguments else None
    asked = aggregates.parse(arguments["aggregate"], rows.askable) if "aggregate" in arguments else None
    chosen = rows.filtered(wanted) if wanted else rows
    return _groups(chosen, asked) if asked else chosen


def taken_up(rows: Rows, arguments: Mapping[str, Any]) -> Rows:
    """The same for a walk that goes on. It keeps what was chosen, so nothing is asked again: what could be asked at the
    first page may be refused by now, for there are more rows, or none that has the name."""
    return MemoryRows((), manner=AS_GROUPS) if "aggregate" in arguments and isinstance(rows, Askable) else rows


def _groups(rows: Rows, asked: Aggregation) -> MemoryRows:
    assert isinstance(rows, Askable)

    def load() -> Loaded:
        groups = rows.grouped(asked)
        note = rows.note()
        notes = [*note.get("notes", ()), *groups.notes]
        return Loaded(groups.rows, {**note, **({"notes": notes} if notes else {})})

    return MemoryRows(load, manner=AS_GROUPS)
