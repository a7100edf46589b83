"""Chunks of a text, and the plan with their positions."""

import struct
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from context_protection.core.splitting.lines import utf8_length


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLimits:
    """The size limits of a chunk. `lines` applies to line content, `tokens` (by `measure`) to other texts, `cap` (by
    `weigh`) to every chunk. `weigh` returns the cost of a raw chunk in the response body, including JSON escapes; it
    must not decrease as a text grows. Raises ValueError for a limit below 1."""

    lines: int = 200
    tokens: int = 2000
    cap: int
    measure: Callable[[str], int]
    weigh: Callable[[str], int]

    def __post_init__(self) -> None:
        for name in ("lines", "tokens", "cap"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1.")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text (FR-022). Lines count from 1 in the whole text, both inclusive; `bytes` is the size in UTF-8
    (DM5)."""

    content: str
    index: int
    total: int
    start_line: int
    end_line: int
    total_lines: int
    bytes: int


_PLAN_MARK = b"cp1:"


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """The positions of a text's chunks. Chunk i has the characters `cuts[i]` to `cuts[i + 1]`, `sizes[i]` bytes of
    UTF-8, and the lines `first_lines[i]` to `last_lines[i]`. A line that had to be divided is in several chunks."""

    cuts: tuple[int, ...]
    sizes: tuple[int, ...]
    first_lines: tuple[int, ...]
    last_lines: tuple[int, ...]
    total_lines: int

    @property
    def chunks(self) -> int:
        """The number of chunks, at least 1."""
        return len(self.sizes)

    def span(self, index: int) -> tuple[int, int]:
        """The start and end of chunk `index`, in characters. Raises IndexError outside 0 to chunks - 1."""
        if not 0 <= index < self.chunks:
            raise IndexError(f"There is no chunk {index}; there are {self.chunks}, counted from 0.")
        return self.cuts[index], self.cuts[index + 1]

    def at(self, char: int) -> int:
        """The index of the chunk that contains this character."""
        return min(max(bisect_right(self.cuts, char) - 1, 0), self.chunks - 1)

    def chunk(self, content: str, index: int) -> Chunk:
        """Chunk `index`, given the characters of its span. Raises ValueError if their size differs from the plan's,
        because it is then a different text."""
        if utf8_length(content) != self.sizes[index]:
            raise ValueError("This is not the text that was planned: its size differs.")
        lines = self.first_lines[index], self.last_lines[index], self.total_lines
        return Chunk(content, index, self.chunks, *lines, self.sizes[index])

    def moved(self, chars: int, lines: int, total_lines: int) -> "ChunkPlan":
        """The plan shifted into a longer text, where `chars` characters and `lines` lines precede it."""
        return ChunkPlan(
            cuts=tuple(chars + cut for cut in self.cuts),
            sizes=self.sizes,
            first_lines=tuple(lines + line for line in self.first_lines),
            last_lines=tuple(lines + line for line in self.last_lines),
            total_lines=total_lines,
        )

    def to_bytes(self) -> bytes:
        """Serializes the plan, with 32 bytes per chunk, for a cache that processes share."""
        numbers = (self.total_lines, *self.cuts, *self.sizes, *self.first_lines, *self.last_lines)
        return _PLAN_MARK + struct.pack(f"<{len(numbers)}Q", *numbers)

    @classmethod
    def from_bytes(cls, data: bytes) -> "ChunkPlan":
        """Parses the result of `to_bytes`. Raises ValueError for anything else."""
        words, rest = divmod(len(data) - len(_PLAN_MARK), 8)
        count, odd = divmod(words - 2, 4)
        if not data.startswith(_PLAN_MARK) or rest or odd or count < 1:
            raise ValueError("These bytes are not a chunk plan of this version.")
        total_lines, *numbers = struct.unpack(f"<{words}Q", data[len(_PLAN_MARK) :])
        cuts, others = tuple(numbers[: count + 1]), numbers[count + 1 :]
        sizes, first, last = (tuple(others[i * count : (i + 1) * count]) for i in range(3))
        return cls(cuts, sizes, first, last, total_lines)
