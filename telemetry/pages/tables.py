"""Tables whose columns sort by a link, and whose rows become cards on a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator

from telemetry.pages.address import Address
from telemetry.states import State
from telemetry.wording import NOTHING

SHOWN = 50  # rows of a table, or of one page of it


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
class TablePage:
    """The rows `first` to `last` of `count`, counted from 1. `previous` and `next`: links, "" at an end."""

    first: int
    last: int
    count: int
    previous: str
    next: str

    @property
    def words(self) -> str:
        return f"{self.first:,} to {self.last:,} of {self.count:,}"


@dataclass(frozen=True, slots=True)
class Table:
    """`empty`: the text in place of rows. `export`: the link to all rows as a file. `page`: the part of a long table
    without an export that is shown; None: all of it, or the beginning if there is an export."""

    key: str
    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = ""
    note: str = ""
    export: str = ""
    page: TablePage | None = None

    @property
    def count(self) -> int:
        """The number of all rows, also those that are not shown."""
        return len(self.rows)

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        return tuple(heading.column for heading in self.headings)

    @property
    def shown(self) -> list[list[tuple[TableColumn, Cell]]]:
        first, last = (self.page.first, self.page.last) if self.page else (1, SHOWN if self.is_cut else self.count)
        rows = self.rows[first - 1 : last]
        return [list(zip(self.columns, row, strict=True)) for row in rows]

    @property
    def is_cut(self) -> bool:
        return bool(self.export) and self.count > SHOWN


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
    is_exported: bool = False,
    is_whole: bool = False,
) -> Table:
    """A table. `sort`: its initial order, such as "-calls", if people can sort it; "" keeps the order of `rows`.
    `is_exported`: whether it is the table that the page's exports have. `is_whole`: all rows are on one page, as on a
    page that answers a form, to which no link leads."""
    columns = tuple(columns)
    export = address.fixed.link(export="csv") if is_exported else ""
    page = None if is_exported or is_whole else _page(address, key, len(rows))
    if not sort:
        headings = tuple(Heading(column) for column in columns)
        return Table(key, title, headings, tuple(map(tuple, rows)), empty, note, export, page)
    order = Order.of(address, columns, sort)
    position = [column.key for column in columns].index(order.key)
    ordered = _sorted(rows, lambda row: row[position].raw, is_descending=order.is_descending)
    headings = tuple(_heading(address, column, order) for column in columns)
    return Table(key, title, headings, ordered, empty, note, export, page)


def _page(address: Address, key: str, count: int) -> TablePage | None:
    """The page that `cursor=<key>:<number>` names, else the first; None: all rows fit one page."""
    if count <= SHOWN:
        return None
    table_key, _, number = address.get("cursor").partition(":")
    page = Paginator(range(count), SHOWN).get_page(number if table_key == key else 1)
    return TablePage(
        first=page.start_index(),
        last=page.end_index(),
        count=count,
        previous=address.link(cursor=f"{key}:{page.previous_page_number()}") if page.has_previous() else "",
        next=address.link(cursor=f"{key}:{page.next_page_number()}") if page.has_next() else "",
    )


def _heading(address: Address, column: TableColumn, order: Order) -> Heading:
    if column.key != order.key:
        return Heading(column, address.link(sort=f"{'-' if column.is_number else ''}{column.key}"))
    turned = f"{'' if order.is_descending else '-'}{column.key}"
    return Heading(column, address.link(sort=turned), "descending" if order.is_descending else "ascending")


def _sorted(
    rows: Sequence[Sequence[Cell]], value: Callable[[Sequence[Cell]], Any], *, is_descending: bool
) -> tuple[tuple[Cell, ...], ...]:
    """The rows in order. Those without a figure come last in both orders. In a column of figures, a word such as "new"
    counts as larger than any figure."""
    known = [row for row in rows if value(row) not in (None, "")]
    unknown = [row for row in rows if value(row) in (None, "")]
    ordered = sorted(known, key=lambda row: (isinstance(value(row), str), value(row)), reverse=is_descending)
    return tuple(map(tuple, (*ordered, *unknown)))
