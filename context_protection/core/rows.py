"""A list in memory, from upstream or computed. Its snapshot stores the rows themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import orjson

from context_protection.core import summaries
from context_protection.core.budget import dumps, dumps_each, lengths
from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import AS_ITEMS, BlockReader, Opening, RowOptions
from context_protection.core.policy import Policy
from context_protection.core.query import grouping
from context_protection.core.query.aggregation import Aggregation, Groups
from context_protection.core.query.columns import QueryColumn, QueryColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.query.empty import GivenFilter
from context_protection.core.query.words import SearchWords
from context_protection.core.redaction import STANDARD, Visibility, redact
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld_fields import seen, shape_as_seen

BLOCK_ROWS = 200


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows, and their note for the first page's `meta`. `beside`: see Opening. `plan`: further entries of the
    snapshot's plan. `total`: the number of all rows, if these are not all."""

    rows: Sequence[dict[str, Any]]
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    total: int | None = None


class _Once:
    """Calls `load` at first use only. functools.cache does so too, but making one takes 3 µs."""

    __slots__ = ("_load", "_loaded")

    def __init__(self, load: Callable[[], Loaded]) -> None:
        self._load = load
        self._loaded: Loaded | None = None

    def __call__(self) -> Loaded:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded


class MemoryRows:
    """Rows in memory. If `rows` is a function, it is not called for later pages. `visibility`: the fields that queries
    may use."""

    compared: Sequence[QueryColumn] = ()
    given: Sequence[GivenFilter] = ()

    def __init__(
        self,
        rows: Sequence[dict[str, Any]] | Callable[[], Loaded],
        shape: Shape = ANY,
        options: RowOptions = AS_ITEMS,
        visibility: Visibility = STANDARD,
    ) -> None:
        self._load = rows if callable(rows) else lambda: Loaded(rows)
        self.shape, self.options, self.visibility = shape, options, visibility
        self.rows: Sequence[dict[str, Any]] = ()
        self._written = WrittenRows(())

    def open(self) -> Opening:
        loaded = self._load()
        self.rows = loaded.rows
        self._written = WrittenRows(self.rows)
        plan = {**loaded.plan, "rows": len(self.rows)}
        total = len(self.rows) if loaded.total is None else loaded.total
        return Opening(total, plan, self._blocks, loaded.note, loaded.beside)

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> "MemoryPage":
        start, total = position or 0, plan["rows"]
        end = min(start + size, total)
        if block and start < end:
            rows: Sequence[dict[str, Any]] = _rows(block, start, end)
            written = None
        else:
            rows, written = self.rows[start:end], partial(self._written.after, start)
        return MemoryPage(rows, self.shape, range(start + 1, end + 1), more=end < total, written=written)

    def note(self) -> Mapping[str, Any]:
        return self._load().note

    @property
    def queryable(self) -> QueryColumns:
        every = cache(lambda: self._load().rows)
        return QueryColumns(shape=self.shape, sample=every, visibility=self.visibility)

    def filtered(self, wanted: Conditions) -> "MemoryRows":
        return self._chosen(wanted.match)

    def searched(self, words: SearchWords) -> "MemoryRows":
        return self._chosen(lambda row: words.are_in(row, self.shape))

    def _chosen(self, is_chosen: Callable[[dict[str, Any]], bool]) -> "MemoryRows":
        def load() -> Loaded:
            loaded = self._load()
            return replace(loaded, rows=[row for row in loaded.rows if is_chosen(row)])

        return MemoryRows(load, self.shape, self.options, self.visibility)

    @property
    def unfiltered(self) -> "MemoryRows":
        return self

    def with_notes(self, notes: Sequence[str]) -> "MemoryRows":
        def noted(loaded: Loaded) -> Loaded:
            return replace(loaded, note={**loaded.note, "notes": [*loaded.note.get("notes", ()), *notes]})

        return MemoryRows(_Once(lambda: noted(self._load())), self.shape, self.options, self.visibility)

    def seen_by(self, visibility: Visibility) -> "MemoryRows":
        """The rows as a caller of this visibility sees them. They are redacted once, at first use."""

        def redacted() -> Loaded:
            loaded = self._load()
            rows = seen(list(loaded.rows), self.shape, visibility)
            beside = redact(dict(loaded.beside), visibility)[0] if loaded.beside else loaded.beside
            return Loaded(rows, loaded.note, beside, loaded.plan, loaded.total)

        return MemoryRows(_Once(redacted), shape_as_seen(self.shape, visibility), self.options, visibility)

    def grouped(self, aggregation: Aggregation) -> Groups:
        return grouping.aggregate(self._load().rows, aggregation)

    def everything(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[dict[str, Any]]:
        for start in range(0, plan["rows"], BLOCK_ROWS):
            yield from _rows(block, start, min(start + BLOCK_ROWS, plan["rows"]))

    def _blocks(self) -> list[bytes]:
        starts = range(0, len(self.rows), BLOCK_ROWS)
        return [self._written.block(start, BLOCK_ROWS) for start in starts]


class WrittenRows:
    """Rows as JSON. The JSON of the first rows is cached, because both their sizes and the snapshot need it."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows = rows
        self._written: list[bytes] = []  # of the first rows

    def after(self, start: int, count: int) -> list[bytes]:
        """The `count` rows after the first `start`."""
        known, end = len(self._written), start + count
        if start <= known:
            self._written += dumps_each(self._rows[known:end])
            return self._written[start:end]
        return dumps_each(self._rows[start:end])

    def block(self, start: int, count: int) -> bytes:
        """The same rows as a JSON array. Writing rows together takes a third to a half of the time."""
        rows = self._rows[start : start + count]
        known = self._written[start : start + count]
        return b"[%b]" % b",".join(known) if len(known) == len(rows) else dumps(rows)


def _rows(block: BlockReader, start: int, end: int) -> list[dict[str, Any]]:
    first, last = start // BLOCK_ROWS, (end - 1) // BLOCK_ROWS
    rows = [row for data in block(range(first, last + 1)) for row in orjson.loads(data)]
    offset = first * BLOCK_ROWS
    return rows[start - offset : end - offset]


@dataclass
class MemoryPage:
    rows: Sequence[dict[str, Any]]
    shape: Shape
    positions: Sequence[Any]
    more: bool
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    written: Callable[[int], Sequence[bytes]] | None = None  # the first rows as JSON, if the page need not write them

    @property
    def field_count(self) -> int:
        return max(map(len, self.rows), default=0)

    def chars(self, count: int) -> Sequence[int]:
        return lengths(self.written(count) if self.written else self._own.after(0, count))

    @cached_property
    def _own(self) -> WrittenRows:
        return WrittenRows(self.rows)

    def condensed(self, policy: Policy, start: int = 0, end: int | None = None) -> Sequence[Mapping[str, Any]]:
        return summaries.rows(self.rows[start:end], self.shape, policy)

    def whole(self, count: int) -> Sequence[dict[str, Any]]:
        return self.rows[:count]
