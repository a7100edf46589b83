"""A text in memory: what upstream answered. Its walk keeps it, so that it is not asked for again."""

import hashlib
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Walk, Walks
from context_protection.core.payloads import Piece
from context_protection.core.splitting.chunks import ChunkPlan
from context_protection.core.splitting.planning import plan_windows
from context_protection.core.splitting.plans import Cutting

BLOCK = 1 << 18  # characters of a text in a block of a walk
PIECE = 1 << 20  # characters from which on a line is handed out in parts
REMEMBERED = 64  # plans of texts; each has a few hundred bytes for every chunk

_lock = threading.Lock()


def kept_text(walk: Walk, walks: Walks) -> "KeptText | None":
    """The text that a walk keeps itself; None for any other walk."""
    return KeptText(walk, walks) if "text" in walk.plan else None


@dataclass(frozen=True)
class MemoryText:
    """Its version is its content: equal texts have equal ones, and no other text is ever read by it. `note` is for the
    `meta` of the first answer."""

    content: str
    name: str = ""
    media_type: str = ""
    note: Mapping[str, Any] = field(default_factory=dict)

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
        """The content as a walk keeps it."""
        return [self.content[start : start + BLOCK].encode() for start in range(0, len(self.content), BLOCK)]

    def told(self, first: int) -> list[Any]:
        """What the walk's plan says of it, when its blocks begin at `first`."""
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

    def plan(self, version: str, cutting: Cutting) -> "MemoryPlan":
        return _planned(self, cutting)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryText) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)


class KeptText:
    """A text that a walk keeps. A chunk costs the one or two blocks that it is in, however long the text. What reads
    raises InvalidCursor where a block is gone."""

    encoding: ClassVar[str] = "utf-8"
    facts: ClassVar[Mapping[str, Any] | None] = None

    def __init__(self, walk: Walk, walks: Walks) -> None:
        self._walk, self._walks = walk, walks
        self._first, self.name, self.media_type, self.version, self.chars, self.lines = walk.plan["text"]

    def blocks(self) -> list[bytes]:
        return self._blocks(range(-(-self.chars // BLOCK)))

    def told(self, first: int) -> list[Any]:
        return [first, *self._walk.plan["text"][1:]]

    def at(self, version: str) -> "KeptText | None":
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

    def plan(self, version: str, cutting: Cutting) -> "MemoryPlan":
        return _planned(self, cutting)

    def _blocks(self, numbers: range) -> list[bytes]:
        return self._walks.blocks(self._walk, [self._first + number for number in numbers])

    @cached_property
    def _whole(self) -> MemoryText:
        return MemoryText(b"".join(self.blocks()).decode(), self.name, self.media_type)


@dataclass(frozen=True)
class MemoryPlan:
    """A KeptPlan: the blocks of a long text's plan."""

    blocks: Sequence[ChunkPlan]

    @cached_property
    def _firsts(self) -> list[int]:
        """The number of each block's first chunk; behind them, how many chunks there are."""
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


_plans: OrderedDict[tuple[str, Cutting], MemoryPlan] = OrderedDict()


def _planned(text: MemoryText | KeptText, cutting: Cutting) -> MemoryPlan:
    """Looked for once in a process. What is remembered holds nothing of the text."""
    key = text.version, cutting
    plan = _plans.get(key)
    if plan is None:
        pieces = (piece.text for piece in text.pieces(text.version))
        plan = MemoryPlan(tuple(plan_windows(pieces, cutting.form, cutting.limits, text.lines)))
    with _lock:
        _plans[key] = plan
        _plans.move_to_end(key)
        while len(_plans) > REMEMBERED:
            _plans.popitem(last=False)
    return plan
