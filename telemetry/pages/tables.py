"""Tables whose columns sort by a link, and whose rows become cards on a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from telemetry.pages.address import Address
from telemetry.states import State
from telemetry.wording import NOTHING

SHOWN = 50  # rows; an export has all


@dataclass(frozen=True, slots=True)
class Tick:
    """A checkbox of the form around a table. `value`: what it submits. `was_ticked`: before the user changed it."""

    value: str
    label: str
    is_ticked: bool
    was_ticked: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """`value`: for sorting and for exports; default: the text. `bar`: a share of 0 to 1, drawn beside the text. `tick`:
    a checkbox before the text."""

    text: str
    link: str = ""
    value: Any = None
    state: State | None = None
    is_code: bool = False
    bar: float | None = None
    tone: str = ""  # better | worse
    tick: Tick | None = None

    @property
    def raw(self) -> Any:
        if self.value is None:
            return None if self.text == NOTHING else self.text
        return self.value

    @property
    def bar_width(self) -> str:
        return f"{60 * min(1, max(0, self.bar or 0)):.1f}"


@dataclass(frozen=True, slots=True)
class TableColumn:
    key: str
    label: str
    is_number: bool = True
    help: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's head. `sort`: the link that sorts by it, "" if the table has only one order."""

    column: TableColumn
    sort: str = ""
    order: str = ""  # ascending | descending, if the table is sorted by it


@dataclass(frozen=True, slots=True)
class Table:
    """`empty`: the text in place of rows."""

    key: str
    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = ""
    note: str = ""
    count: int = 0  # all rows, also those that are not shown

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        return tuple(heading.column for heading in self.headings)

    @property
    def shown(self) -> list[list[tuple[TableColumn, Cell]]]:
        return [list(zip(self.columns, row, strict=True)) for row in self.rows[:SHOWN]]

    @property
    def is_cut(self) -> bool:
        return len(self.rows) > SHOWN


@dataclass(frozen=True, slots=True)
class Order:
    """The order that `sort=` names: a column, and whether the largest comes first."""

    key: str
    is_descending: bool = True

    @classmethod
    def of(cls, address: Address, columns: Sequence[TableColumn], default: str) -> "Order":
        wanted = address.get("sort") or default
        key = wanted.removeprefix("-")
        if key not in {column.key for column in columns}:
            wanted, key = default, default.removeprefix("-")
        return cls(key, wanted.startswith("-"))


def table(
    address: Address,
    *,
    key: str,
    title: str,
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Cell]],
    sort: str = "",
    empty: str = "",
    note: str = "",
) -> Table:
    """A table. `sort`: its initial order, such as "-calls", if people can sort it; "" keeps the order of `rows`."""
    columns = tuple(columns)
    if not sort:
        headings = tuple(Heading(column) for column in columns)
        return Table(key, title, headings, tuple(map(tuple, rows)), empty, note, len(rows))
    order = Order.of(address, columns, sort)
    position = [column.key for column in columns].index(order.key)
    ordered = _sorted(rows, lambda row: row[position].raw, is_descending=order.is_descending)
    headings = tuple(_heading(address, column, order) for column in columns)
    return Table(key, title, headings, ordered, empty, note, len(rows))


def _heading(address: Address, column: TableColumn, order: Order) -> Heading:
    if column.key != order.key:
        return Heading(column, address.link(sort=f"{'-' if column.is_number else ''}{column.key}"))
    turned = f"{'' if order.is_descending else '-'}{column.key}"
    return Heading(column, address.link(sort=turned), "descending" if order.is_descending else "ascending")


def _sorted(
    rows: Sequence[Sequence[Cell]], value: Callable[[Sequence[Cell]], Any], *, is_descending: bool
) -> tuple[tuple[Cell, ...], ...]:
    """The rows in order. Those without a figure come last in both orders."""
    known = [row for row in rows if value(row) not in (None, "")]
    unknown = [row for row in rows if value(row) in (None, "")]
    return tuple(map(tuple, (*sorted(known, key=value, reverse=is_descending), *unknown)))
