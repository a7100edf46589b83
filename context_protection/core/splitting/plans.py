"""The parameters of a plan, and stored plans for texts that are too long to be planned during a call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from context_protection.core import tokens
from context_protection.core.budget import SAMPLE_MARGIN, dumps, length, most_chars
from context_protection.core.errors import UPSTREAM, CallError
from context_protection.core.policy import Policy
from context_protection.core.splitting.chunks import Chunk, ChunkLimits, ChunkPlan
from context_protection.core.splitting.forms import LINE_CONTENT, TextForm
from context_protection.core.splitting.lines import utf8_length

AROUND = 500  # tokens of an envelope besides its content
UNBOUNDED = 2**31


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Everything that a plan depends on besides the text, so that a stored plan can be found by it. `lines` applies to
    line content, `tokens` to other texts; `cap` (Claude's tokens) and `chars` (characters of JSON) to every chunk."""

    form: TextForm
    lines: int
    tokens: int
    cap: int
    chars: int

    @classmethod
    def of(cls, form: TextForm, policy: Policy, *, bounded: bool = True, beside: bytes = b"") -> "ChunkSizes":
        """The sizes that the policy sets; if not `bounded`, only the hard cap applies. `beside`: JSON that each
        response carries with its chunk."""
        by_lines = form in LINE_CONTENT
        return cls(
            form=form,
            lines=policy.chunk_size if bounded and by_lines else UNBOUNDED,
            tokens=policy.chunk_tokens if bounded and not by_lines else UNBOUNDED,
            cap=policy.hard_cap - AROUND - _cost(beside),
            chars=most_chars(policy) - AROUND * 4 - length(beside),
        )

    def fits_within(self, other: "ChunkSizes") -> bool:
        """Whether each of its chunks is small enough for the hard cap of `other`."""
        return self.form is other.form and self.cap <= other.cap and self.chars <= other.chars

    @property
    def limits(self) -> ChunkLimits:
        return ChunkLimits(
            lines=self.lines,
            tokens=self.tokens,
            cap=self.cap,
            measure=tokens.formula,
            weigh=_Scale(self.cap, self.chars),
        )


def _cost(data: bytes) -> int:
    return int(tokens.claude.count(data.decode()) * tokens.MARGIN) + 1 if data else 0


@dataclass(frozen=True, slots=True)
class _Scale:
    """Weighs a raw chunk by its cost in the response body, in Claude's tokens. Tokens are counted near the cap, and
    estimated otherwise. A text that is surely below the cap gets a cheaper estimate."""

    cap: int
    chars: int

    def __call__(self, content: str) -> int:
        data = dumps(content)
        escaped = data.decode()
        return max(self._tokens(data, escaped), len(escaped) * self.cap // self.chars)

    def _tokens(self, data: bytes, escaped: str) -> int:
        most = tokens.most_tokens(data)
        if most is not None and most * tokens.MARGIN < self.cap:
            return min(tokens.guarded(escaped), most)
        count = tokens.claude.estimate(escaped)
        if self.cap / SAMPLE_MARGIN < count <= self.cap * SAMPLE_MARGIN:
            count = tokens.claude.count(escaped)
        return int(count * tokens.MARGIN) + 1


class TextGone(LookupError):
    """A version of a text, or its plan, is no longer stored."""


class StoredPlan(Protocol):
    """A stored plan that all processes share, read block by block. Its methods raise TextGone."""

    @property
    def chunks(self) -> int: ...

    def block_of(self, chunk: int) -> tuple[int, ChunkPlan]:
        """The number of the first chunk in the block that contains this chunk, and that block."""

    def block_at(self, char: int) -> tuple[int, ChunkPlan]:
        """Like `block_of`, for the chunk with this character."""


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """A plan that is being made in the background. `done`: the finished share, 0 to 1. `seconds`: the time left.
    `former`: the sizes of a finished plan of the same text, whose chunks are within the hard cap as well."""

    done: float
    seconds: int
    former: ChunkSizes | None = None


class Indexing(CallError):
    """The plan of a long text is not finished."""

    code: ClassVar[int] = UPSTREAM
    status: ClassVar[int] = 503


def indexing(progress: IndexingProgress, lines_at_once: int, **parameter: Any) -> Indexing:
    """The error while a plan is being made. `parameter`: the parameter that needs the plan, and its value."""
    return Indexing(
        f"The text is being divided into chunks: {progress.done:.0%} done, about {progress.seconds} seconds left.",
        reason="indexing",
        expected=f"the same call in {progress.seconds} seconds, or about {lines_at_once:,} lines at once",
        suggestion="Read lines now with startLine and endLine, or call again later.",
        retry_after=progress.seconds,
        **parameter,
    )


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The chunks of a stored plan that hold the characters `start` to `end`, which are the lines `start_line` to
    `end_line`: `total` chunks from the plan's chunk `first` on. The first and the last one are clipped."""

    start: int
    end: int
    start_line: int
    end_line: int
    first: int
    total: int

    @classmethod
    def of(cls, plan: StoredPlan, start: int, end: int, start_line: int, end_line: int) -> "Excerpt":
        first, last = number_at(plan, start), number_at(plan, end - 1)
        return cls(start, end, start_line, end_line, first, last - first + 1)

    def _span(self, block: ChunkPlan, inside: int) -> tuple[int, int]:
        start, end = block.span(inside)
        return max(start, self.start), min(end, self.end)

    def chunk(self, plan: StoredPlan, index: int, read: Callable[[int, int], str]) -> Chunk:
        """The excerpt's chunk `index`; `read` returns characters of the text. Raises TextGone."""
        first, block = plan.block_of(self.first + index)
        inside = self.first + index - first
        content = read(*self._span(block, inside))
        return Chunk(
            content,
            index,
            self.total,
            max(block.first_lines[inside], self.start_line),
            min(block.last_lines[inside], self.end_line),
            block.total_lines,
            utf8_length(content),
        )

    def start_of(self, plan: StoredPlan, index: int) -> int:
        """The first character of the excerpt's chunk `index`. Raises TextGone."""
        first, block = plan.block_of(self.first + index)
        return self._span(block, self.first + index - first)[0]


def chunk_start(plan: StoredPlan, char: int) -> int:
    """The first character of the chunk that holds this one. Raises TextGone."""
    _, block = plan.block_at(char)
    return block.cuts[block.at(char)]


def number_at(plan: StoredPlan, char: int) -> int:
    """The number of the chunk that holds this character. Raises TextGone."""
    first, block = plan.block_at(char)
    return first + block.at(char)
