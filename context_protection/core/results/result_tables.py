"""The columns of a stored result in SQL: canonical ones first, with their declared types."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from context_protection.core.payloads import Rows
from context_protection.core.query.columns import Type
from context_protection.core.query.queryable import Queryable
from context_protection.core.results.tabulation import Column, Kind
from context_protection.core.shapes import Shape

COMPUTED = "columns"  # the entry of a snapshot's plan with the columns of a SELECT's result


def of_rows(rows: Rows, source: Mapping[str, Any]) -> list[Column]:
    """The columns of a list whose snapshot has the plan `source`."""
    if COMPUTED in source:
        return [Column(name, name, kind, unit=unit, units=tuple(units)) for name, kind, unit, units in source[COMPUTED]]
    queryable = rows.queryable.declared if isinstance(rows, Queryable) else ()
    declared = [
        Column(each.name, each.source, cast(Kind, each.type.value), each.convert, each.unit)
        for each in queryable
        if each.type is not Type.ANY
    ]
    names = {each.name for each in declared}
    return [*declared, *(each for each in of_record(rows.shape) if each.name not in names)]


def of_record(shape: Shape) -> list[Column]:
    return [Column(each.name, each.source, reads=each.read) for each in shape.fields.values()]


def plan_of(columns: Sequence[Column]) -> dict[str, Any]:
    """The entry of a snapshot's plan from which `of_rows` restores these columns."""
    return {COMPUTED: [[each.name, each.kind, each.unit, each.units] for each in columns]}
