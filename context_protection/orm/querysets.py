"""Database lists as the rows of a snapshot.

A snapshot stores the rows' primary keys if the list has at most SNAPSHOT_ROWS rows, or if its order can change between
pages. Each row is then returned once and in order, whatever is written later. A larger unfiltered list in creation
order uses keyset paging below a watermark instead: page 10,000 costs the same as page 2.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import orjson
from django.db.models import BooleanField, Count, F, Func, Max, Model, OrderBy, QuerySet, Value

from context_protection.core import summaries
from context_protection.core.cached_property import cached_property
from context_protection.core.masks import is_withheld
from context_protection.core.payloads import AS_ITEMS, BlockReader, Opening, Page, RowOptions
from context_protection.core.policy import Policy
from context_protection.core.query import currencies
from context_protection.core.query.aggregation import Aggregation, Groups
from context_protection.core.query.columns import NOTHING_DECLARED, QueryColumn, QueryColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.query.empty import GivenFilter
from context_protection.core.query.words import SearchWords
from context_protection.core.redaction import STANDARD, Visibility
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import Shape
from context_protection.core.withheld_fields import MASK, seen, shape_as_seen, under_all_names
from context_protection.orm import query
from context_protection.orm.statements import statement, unconverted

SNAPSHOT_ROWS = 2000  # keys in one block of a snapshot


class QuerySetRows(ABC):
    """`order`: column names, `-` for descending, or expressions; the last one is unique. `created`: a column that never
    changes; a large list in descending order of it is paged by key. None: no list is paged by key."""

    created: str | None = None
    options: RowOptions = AS_ITEMS
    _notes: Sequence[str] = ()

    def __init__(self, queryset: QuerySet[Any], *, shape: Shape, order: Sequence[str | OrderBy]) -> None:
        self.queryset, self.shape, self.order = queryset, shape, tuple(order)
        self._opened = array("q")
        self._on_units: list[str] = []  # notes on the units of amounts, made with the first page

    def note(self) -> Mapping[str, Any]:
        """Entries about all rows, for the `meta` of the first page."""
        return {}

    def _whole_note(self) -> Mapping[str, Any]:
        note, more = self.note(), [*self._notes, *self._on_units]
        return {**note, "notes": [*note.get("notes", ()), *more]} if more else note

    def open(self) -> Opening:
        by_key = self.order[0] == f"-{self.created}" and not self.queryset.query.where
        every = self._ordered_keys(SNAPSHOT_ROWS + 1 if by_key else None)
        if by_key and len(every) > SNAPSHOT_ROWS:
            found = self.queryset.order_by().aggregate(total=Count("pk"), last=Max("pk"))
            return Opening(found["total"], {"watermark": found["last"]}, note=self._whole_note())
        self._opened = every
        return Opening(len(every), {"keys": len(every)}, lambda: _blocks(every), self._whole_note())

    def _ordered_keys(self, most: int | None) -> "array[int]":
        """The keys of the first `most` rows, in order. None: of all."""
        rows = self.queryset.order_by(*self.order)[:most]
        return array("q", rows.values_list("pk", flat=True).iterator(chunk_size=SNAPSHOT_ROWS))

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> Page:
        if "watermark" in plan:
            return self._page_by_key(plan["watermark"], position, size)
        start, end, total = position or 0, 0, plan["keys"]
        found: list[tuple[Any, ...]] = []
        positions: list[int] = []
        while not found and end < total:
            end = min(start + size, total)
            positions, found = self._existing(_keys(block, start, end) if block else self._opened[start:end], start)
            start = end  # rows that were deleted since the snapshot was taken are left out
        if found:
            positions[-1] = end
        return self._page(positions, found, end < total)

    def _existing(self, keys: Sequence[int], start: int) -> tuple[list[int], list[tuple[Any, ...]]]:
        """The rows that still exist, and the position after each of them."""
        found = list(self._by_key(keys))
        rows = dict(zip(map(itemgetter(0), found), found, strict=True))
        exist = list(map(rows.__contains__, keys))
        positions = list(compress(range(start + 1, start + 1 + len(keys)), exist))
        return positions, list(map(rows.__getitem__, compress(keys, exist)))

    def _page_by_key(self, watermark: int, position: Any, size: int) -> Page:
        rows = self.queryset.filter(pk__lte=watermark).order_by(*self.order)
        names = [str(name).lstrip("-") for name in self.order]
        if position is not None:
            rows = rows.filter(_Before(self.queryset.model, names, position))
        found = list(self._read(rows[: size + 1], *names))
        positions = [[_json(value) for value in row[-len(names) :]] for row in found[:size]]
        return self._page(positions, found[:size], len(found) > size)

    def _manager(self) -> Any:
        """All rows of the model, because filters were applied when the snapshot was taken."""
        return self.queryset.model._default_manager

    def _by_key(self, keys: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        """The rows with these keys, in any order, each in the form that `_read` returns."""
        return self._read(self._manager().filter(pk__in=keys))

    @abstractmethod
    def _read(self, rows: QuerySet[Any], *extra: str) -> Iterable[tuple[Any, ...]]:
        """The rows, each as a tuple: its key, the values that the page needs, and the values of the `extra` columns."""

    @abstractmethod
    def _page(self, positions: Sequence[Any], rows: Sequence[tuple[Any, ...]], more: bool) -> Page:
        """Builds a page from rows in the form that `_read` returns."""


# -- Rows with columns of their own -----------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """The columns that hold a whole row, and the function that builds the row from their values."""

    columns: tuple[str, ...] = ("data",)
    read: Callable[..., dict[str, Any]] = orjson.loads

    def seen_by(self, visibility: Visibility, shape: Shape) -> "Whole":
        def read(*values: Any) -> dict[str, Any]:
            row: dict[str, Any] = seen([self.read(*values)], shape, visibility)[0]
            return row

        return replace(self, read=read)


@dataclass(frozen=True)
class Columns:
    """The model's columns that a list needs. `row` maps a condensed row's canonical names to columns."""

    row: Mapping[str, str]
    whole: Whole = Whole()
    chars: str = "chars"
    field_count: str = "field_count"
    convert: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The columns that a page reads."""
        return ("pk", self.chars, self.field_count, *self.row.values())

    @cached_property
    def cells(self) -> Sequence[summaries.CondensedCell]:
        """The cells of a condensed row, which follow the key, the size and the number of fields."""
        named = enumerate(self.row, start=len(self.read) - len(self.row))
        return [summaries.CondensedCell(index, name, name, self.convert.get(name)) for index, name in named]

    def seen_by(self, visibility: Visibility, shape: Shape) -> "Columns":
        """The columns with a mask in place of what the policy withholds."""
        every = under_all_names(visibility, shape)
        masks = {name: _masked for name in self.row if is_withheld(name, every)}
        return replace(self, whole=self.whole.seen_by(visibility, shape), convert={**self.convert, **masks})


class ColumnRows(QuerySetRows):
    """Rows of a model with a column for every condensed field, and one that holds the whole object as JSON. The units
    of the `compared` amounts have columns too."""

    created = "inserted_on"

    def __init__(
        self,
        queryset: QuerySet[Any],
        *,
        shape: Shape,
        columns: Columns,
        order: Sequence[str | OrderBy],
        queryable: QueryColumns = NOTHING_DECLARED,
        compared: Sequence[QueryColumn] = (),
        given: Sequence[GivenFilter] = (),
    ) -> None:
        super().__init__(queryset, shape=shape, order=order)
        self.columns = columns
        self.compared, self.given = compared, given
        self.queryable = query.known_from(queryset.model, queryable)

    def filtered(self, wanted: Conditions) -> "ColumnRows | MemoryRows":
        if any(is_withheld(each.column.source, STANDARD) for each in wanted):
            return self._in_memory([each.column for each in wanted], "where").filtered(wanted)
        chosen = copy(self)
        chosen.queryset = query.filtered(self.queryset, wanted)
        return chosen

    def searched(self, words: SearchWords) -> "ColumnRows":
        """Reads all rows: in SQL, ignoring accents in whole rows takes longer than reading them."""
        query.check_searching(self.queryset, words)
        whole, chosen = self.columns.whole, copy(self)
        rows = self.queryset.order_by().values_list("pk", *whole.columns).iterator(chunk_size=SNAPSHOT_ROWS)
        keys = [key for key, *values in rows if words.are_in(whole.read(*values), self.shape)]
        chosen.queryset = self.queryset.filter(pk__in=keys)
        return chosen

    @property
    def unfiltered(self) -> "ColumnRows":
        every = copy(self)
        every.queryset, every.given, every.compared = self._manager().all(), (), ()
        return every

    def seen_by(self, visibility: Visibility) -> "ColumnRows":
        """The rows without what the policy withholds. Their secrets were masked when they were stored."""
        if not visibility.withheld:
            return self
        chosen = copy(self)
        chosen.shape = shape_as_seen(self.shape, visibility)
        chosen.columns = self.columns.seen_by(visibility, self.shape)
        chosen.queryable = self.queryable.seen_by(visibility)
        return chosen

    def with_notes(self, notes: Sequence[str]) -> "ColumnRows":
        noted = copy(self)
        noted._notes, noted.compared = notes, ()
        return noted

    def _ordered_keys(self, most: int | None) -> "array[int]":
        """Reads the units of compared amounts together with the keys, for a note on them."""
        compared = [each for each in self.compared if self.queryable.shows(each.unit)]
        units = list(dict.fromkeys(each.unit for each in compared))
        columns = [self.queryable.resolve(unit, "order").column for unit in units]
        keys, found = array("q"), [set[Any]() for _ in units]
        for block in unconverted(self.queryset, ["pk", *columns], self.order, most, SNAPSHOT_ROWS):
            some, *values = zip(*block, strict=True)
            keys.extend(some)
            for known, more in zip(found, values, strict=True):
                known.update(more)
        self._on_units = []
        for unit, known in zip(units, found, strict=True):
            amounts = (each.name for each in compared if each.unit == unit)
            self._on_units += currencies.note(amounts, unit, known - {None})
        return keys

    def grouped(self, aggregation: Aggregation) -> Groups:
        columns = aggregation.columns
        if any(is_withheld(each.source, STANDARD) for each in columns):
            return self._in_memory(columns, "aggregate").grouped(aggregation)
        return query.aggregated(self.queryset, aggregation)

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> Page:
        if "rows" in plan:
            return self._stored_rows.page(plan, block, position, size)
        return super().page(plan, block, position, size)

    def _in_memory(self, columns: Sequence[QueryColumn], parameter: str) -> MemoryRows:
        """Loads the rows to query secret fields, which the database stores sealed and cannot compare."""
        query.check_reading(self.queryset, columns, parameter)

        def load() -> Loaded:
            whole = self.columns.whole
            rows = self.queryset.order_by(*self.order).values_list(*whole.columns)
            return Loaded([whole.read(*values) for values in rows], self.note())

        return MemoryRows(load, self.shape, self.options, self.queryable.visibility)

    @property
    def _stored_rows(self) -> MemoryRows:
        """Reads a snapshot that stores the rows themselves."""
        return MemoryRows((), self.shape, self.options)

    def _read(self, rows: QuerySet[Any], *extra: str) -> Iterable[tuple[Any, ...]]:
        return rows.values_list(*self.columns.read, *extra)

    def _by_key(self, keys: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        model: type[Model] = self.queryset.model
        return statement(model, self.columns.read, len(keys)).rows(keys)

    def everything(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[dict[str, Any]]:
        if "rows" in plan:
            yield from self._stored_rows.everything(plan, block)
            return
        for keys in self._every_key(plan, block):
            found = _whole_rows(self._manager(), self.columns.whole, keys)
            yield from (found[key] for key in keys if key in found)

    def _every_key(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[Sequence[int]]:
        if "watermark" in plan:
            keys = self.queryset.filter(pk__lte=plan["watermark"]).order_by(*self.order).values_list("pk", flat=True)
            every = keys.iterator(chunk_size=SNAPSHOT_ROWS)
            while some := list(islice(every, SNAPSHOT_ROWS)):
                yield some
            return
        for start in range(0, plan["keys"], SNAPSHOT_ROWS):
            yield _keys(block, start, min(start + SNAPSHOT_ROWS, plan["keys"]))

    def _page(self, positions: Sequence[Any], rows: Sequence[tuple[Any, ...]], more: bool) -> Page:
        return ColumnPage(self._manager(), self.columns, self.shape, positions, rows, more)


@dataclass
class ColumnPage:
    """`rows` are tuples: (key, chars, field count, condensed columns …)."""

    manager: Any
    columns: Columns
    shape: Shape
    positions: Sequence[Any]
    rows: Sequence[tuple[Any, ...]]
    more: bool

    @property
    def note(self) -> Mapping[str, Any]:
        return {}

    @property
    def beside(self) -> Mapping[int, Mapping[str, Any]]:
        return {}

    @property
    def field_count(self) -> int:
        return max(map(itemgetter(2), self.rows), default=0)

    def chars(self, count: int) -> Sequence[int]:
        return list(map(itemgetter(1), self.rows[:count]))

    def condensed(self, policy: Policy, start: int = 0, end: int | None = None) -> Sequence[Mapping[str, Any]]:
        if policy.summary_fields:  # fields that ops chose have no columns
            return summaries.rows(self.whole(len(self.rows))[start:end], self.shape, policy)
        return summaries.from_tuples(self.rows[start:end], self.columns.cells, policy)

    def whole(self, count: int) -> Sequence[dict[str, Any]]:
        keys = [row[0] for row in self.rows[:count]]
        found = _whole_rows(self.manager, self.columns.whole, keys)
        for index in reversed([index for index, key in enumerate(keys) if key not in found]):
            if len(self.positions) > 1:  # deleted while the page is being built; the last position still ends the page
                del self.rows[index], self.positions[index]
        return [found[key] for key in keys if key in found]


def _whole_rows(manager: Any, whole: Whole, keys: Sequence[int]) -> dict[int, dict[str, Any]]:
    rows = manager.filter(pk__in=keys).values_list("pk", *whole.columns)
    return {key: whole.read(*values) for key, *values in rows}


def _masked(value: Any) -> str:
    return MASK


# -- A position by key ------------------------------------------------------------------------------


class _Before(Func):
    """`(a, b) < (x, y)`: the rows after a position in descending order, found by one index lookup."""

    template = "(%(expressions)s)"
    output_field = BooleanField()
    conditional = True

    def __init__(self, model: type[Model], names: Sequence[str], position: Sequence[Any]) -> None:
        fields: list[Any] = [model._meta.get_field(name) for name in names]
        values = [
            Value(field.to_python(value), output_field=field) for field, value in zip(fields, position, strict=True)
        ]
        super().__init__(*(F(name) for name in names), *values)

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> Any:
        parts = [compiler.compile(expression) for expression in self.get_source_expressions()]
        half = len(parts) // 2
        left, right = (", ".join(sql for sql, _ in side) for side in (parts[:half], parts[half:]))
        return f"({left}) < ({right})", tuple(value for _, values in parts for value in values)


# -- Snapshots of keys ------------------------------------------------------------------------------


def _blocks(keys: "array[int]") -> list[bytes]:
    starts = range(0, len(keys), SNAPSHOT_ROWS)
    return [keys[start : start + SNAPSHOT_ROWS].tobytes() for start in starts]


def _keys(block: BlockReader, start: int, end: int) -> "array[int]":
    """Keys [`start`, `end`) of a snapshot; the range is not empty."""
    first, last = start // SNAPSHOT_ROWS, (end - 1) // SNAPSHOT_ROWS
    keys = array("q")
    for data in block(range(first, last + 1)):
        keys.frombytes(data)
    offset = first * SNAPSHOT_ROWS
    return keys[start - offset : end - offset]


def _json(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
