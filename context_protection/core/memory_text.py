"""A text from upstream in memory. Its snapshot stores it, so that it is not fetched again."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

from context_protection.core.cache_budget import Cache, cache_budget
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Snapshot, Snapshots
from context_protection.core.payloads import Piece
from context_protection.core.splitting.chunks import ChunkPlan
from context_protection.core.splitting.planner import plan_windows
from context_protection.core.splitting.plans import ChunkSizes

BLOCK = 1 << 18  # characters of a text in one block of a snapshot
PIECE = 1 << 20  # maximum characters of a piece; a longer line is split
PLAN_BYTES, CHUNK_BYTES = 2000, 400  # of a cached chunk plan, and of each of its chunks


def stored_text(snapshot: Snapshot, snapshots: Snapshots) -> "SnapshotText | None":
    """The snapshot's stored text, or None."""
    return SnapshotText(snapshot, snapshots) if "text" in snapshot.plan else None


@dataclass(frozen=True)
class MemoryText:
    """A text in memory. Its version is a hash of its content, so equal texts have equal versions. `note` goes to the
    first answer's `meta`, `beside` to the first answer itself, beside its content."""

    content: str
    name: str = ""
    media_type: str = ""
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)

    encoding: ClassVar[str] = "utf-8"
    facts: ClassVar[Mapping[str, Any] | None] = None

    @cached_property
    def version(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    @property
    def chars(self) -> int:
        return len(self.content)

    @cached_property
    def lines(self) -> int:
        return self.content.count("\n") + (not self.content.endswith("\n"))

    def blocks(self) -> list[bytes]:
        """The content as blocks of a snapshot."""
        return [self.content[start : start + BLOCK].encode() for start in range(0, len(self.content), BLOCK)]

    def description(self, first: int) -> list[Any]:
        """The description of the text in the snapshot's plan. `first`: the number of its first block."""
        return [first, self.name, self.media_type, self.version, self.chars, self.lines]

    def at(self, version: str) -> "MemoryText | None":
        return self if version == self.version else None

    def read(self, version: str, start: int, end: int) -> str | None:
        return self.content[start:end] if version == self.version else None

    def line_start(self, version: str, line: int) -> int:
        start = 0
        for _ in range(line - 1):
            start = self.content.find("\n", start) + 1
            if start == 0:
                return self.chars
        return start

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        if version != self.version:
            return
        line, start = first_line, self.line_start(version, first_line)
        while start < self.chars:
            end = self.content.rfind("\n", start, start + PIECE) + 1 or min(start + PIECE, self.chars)
            yield Piece(line, start, self.content[start:end])
            line, start = line + self.content.count("\n", start, end), end

    def plan(self, version: str, chunk_sizes: ChunkSizes) -> "MemoryPlan":
        return _planned(self, chunk_sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryText) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)


class SnapshotText:
    """A text of any length, stored in a snapshot. Reading a chunk loads only the one or two blocks that contain it.
    Methods that read raise InvalidCursor if a block is gone."""

    encoding: ClassVar[str] = "utf-8"
    facts: ClassVar[Mapping[str, Any] | None] = None

    def __init__(self, snapshot: Snapshot, snapshots: Snapshots) -> None:
        self._snapshot, self._snapshots = snapshot, snapshots
        self._first, self.name, self.media_type, self.version, self.chars, self.lines = snapshot.plan["text"]

    def blocks(self) -> list[bytes]:
        return self._blocks(range(-(-self.chars // BLOCK)))

    def description(self, first: int) -> list[Any]:
        return [first, *self._snapshot.plan["text"][1:]]

    def at(self, version: str) -> "SnapshotText | None":
        return self if version == self.version else None

    def read(self, version: str, start: int, end: int) -> str | None:
        if version != self.version:
            return None
        first = start // BLOCK
        data = b"".join(self._blocks(range(first, -(-min(end, self.chars) // BLOCK))))
        return data.decode()[start - first * BLOCK : end - first * BLOCK]

    def line_start(self, version: str, line: int) -> int:
        return self._whole.line_start(version, line)

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        return self._whole.pieces(version, first_line)

    def plan(self, version: str, chunk_sizes: ChunkSizes) -> "MemoryPlan":
        return _planned(self, chunk_sizes)

    def _blocks(self, numbers: range) -> list[bytes]:
        return self._snapshots.blocks(self._snapshot, [self._first + number for number in numbers])

    @cached_property
    def _whole(self) -> MemoryText:
        return MemoryText(b"".join(self.blocks()).decode(), self.name, self.media_type)


@dataclass(frozen=True)
class MemoryPlan:
    """A `StoredPlan` in memory: the blocks of a text's chunk plan."""

    blocks: Sequence[ChunkPlan]

    @cached_property
    def _firsts(self) -> list[int]:
        """The index of each block's first chunk, then the total number of chunks."""
        return list(accumulate((block.chunks for block in self.blocks), initial=0))

    @property
    def chunks(self) -> int:
        return self._firsts[-1]

    def block_of(self, chunk: int) -> tuple[int, ChunkPlan]:
        number = bisect_right(self._firsts, chunk) - 1
        return self._firsts[number], self.blocks[number]

    def block_at(self, char: int) -> tuple[int, ChunkPlan]:
        number = max(0, bisect_right(self.blocks, char, key=lambda block: block.cuts[0]) - 1)
        return self._firsts[number], self.blocks[number]


_plans: Cache[tuple[str, ChunkSizes], MemoryPlan] = Cache("chunk plans", cache_budget)


def _planned(text: MemoryText | SnapshotText, chunk_sizes: ChunkSizes) -> MemoryPlan:
    """The chunk plan, cached per process. The cache does not contain the text itself."""
    key = text.version, chunk_sizes
    plan = _plans.get(key)
    if plan is None:
        pieces = (piece.text for piece in text.pieces(text.version))
        plan = MemoryPlan(tuple(plan_windows(pieces, chunk_sizes.form, chunk_sizes.limits, text.lines)))
        _plans.put(key, plan, PLAN_BYTES + CHUNK_BYTES * plan.chunks)
    return plan
