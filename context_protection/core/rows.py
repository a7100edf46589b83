"""A list in memory, from upstream or computed. Its snapshot (`Walk`) stores the rows themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import orjson

from context_protection.core import summaries
from context_protection.core.budget import dumps, length
from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import AS_ITEMS, BlockReader, Manner, Opening
from context_protection.core.policy import Policy
from context_protection.core.query import aggregates
from context_protection.core.query.aggregates import Aggregation, Groups
from context_protection.core.query.columns import AskedColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.shapes import ANY, Shape

BLOCK_ROWS = 200
SAMPLED = 100  # rows from which further columns for queries are inferred


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows, and their note for the first page's `meta`. `beside`: see Opening."""

    rows: Sequence[dict[str, Any]]
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)


class MemoryRows:
    """Rows in memory. If `rows` is a function, only a first page calls it. `reveal`: names of secret fields that may be
    queried."""

    def __init__(
        self,
        rows: Sequence[dict[str, Any]] | Callable[[], Loaded],
        shape: Shape = ANY,
        manner: Manner = AS_ITEMS,
        reveal: frozenset[str] = frozenset(),
    ) -> None:
        self._load = rows if callable(rows) else lambda: Loaded(rows)
        self.shape, self.manner, self.reveal = shape, manner, reveal
        self.rows: Sequence[dict[str, Any]] = ()

    def open(self) -> Opening:
        loaded = self._load()
        self.rows = loaded.rows
        return Opening(len(self.rows), {"rows": len(self.rows)}, self._blocks, loaded.note, loaded.beside)

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> "MemoryPage":
        start, total = position or 0, plan["rows"]
        end = min(start + size, total)
        rows = _rows(block, start, end) if block and start < end else self.rows[start:end]
        return MemoryPage(rows, self.shape, range(start + 1, end + 1), more=end < total)

    def note(self) -> Mapping[str, Any]:
        return self._load().note

    @property
    def askable(self) -> AskedColumns:
        sample = cache(lambda: self._load().rows[:SAMPLED])
        return AskedColumns(shape=self.shape, sample=sample, reveal=self.reveal)

    def filtered(self, wanted: Conditions) -> "MemoryRows":
        def load() -> Loaded:
            loaded = self._load()
            return replace(loaded, rows=[row for row in loaded.rows if wanted.match(row)])

        return MemoryRows(load, self.shape, self.manner, self.reveal)

    def changed(self, change: Callable[[Loaded], Loaded], reveal: frozenset[str]) -> "MemoryRows":
        """The list with the rows that `change` returns. `change` is called once, at first use."""
        return MemoryRows(cache(lambda: change(self._load())), self.shape, self.manner, reveal)

    def grouped(self, asked: Aggregation) -> Groups:
        return aggregates.aggregate(self._load().rows, asked)

    def everything(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[dict[str, Any]]:
        for start in range(0, plan["rows"], BLOCK_ROWS):
            yield from _rows(block, start, min(start + BLOCK_ROWS, plan["rows"]))

    def _blocks(self) -> list[bytes]:
        starts = range(0, len(self.rows), BLOCK_ROWS)
        return [dumps(self.rows[start : start + BLOCK_ROWS]) for start in starts]


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

    @cached_property
    def chars(self) -> Sequence[int]:
        return [length(dumps(row)) for row in self.rows]

    @property
    def field_count(self) -> int:
        return max((len(row) for row in self.rows), default=0)

    def condensed(self, policy: Policy) -> Sequence[Mapping[str, Any]]:
        return summaries.rows(self.rows, self.shape, policy)

    def whole(self, count: int) -> Sequence[dict[str, Any]]:
        return self.rows[:count]
