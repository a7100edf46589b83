"""A text's answer: whole while it is short, else in chunks on its own boundaries (FR-020 to FR-023).

A walk over a text keeps the plan of its chunks, so that every chunk is one read, in whatever process, and their number
stays the same to the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from context_protection import chunks, tokens
from context_protection.budget import MARGIN, MOST_CHARS, Body, dumps, length, render
from context_protection.chunks import Chunk, ChunkPlan, Limits, RangeError, TextForm
from context_protection.cursors import Walk, Walks
from context_protection.errors import InvalidArgument, invalid_cursor
from context_protection.payloads import Ask, Envelope, Outcome, Text
from context_protection.policy import Policy

AROUND = 500  # tokens that an envelope takes beside its content
UNBOUNDED = 2**31


def answer(text: Text, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Raises InvalidArgument (startLine, endLine), InvalidCursor."""
    if ask.walk is not None:
        return _next_chunk(text, ask, ask.walk, policy, walks)
    planned = _planned(_Question.of(text, ask, policy))
    chunk = _read(text, text.version, planned.plan, 0)
    if planned.plan.chunks == 1:
        return _envelope(_body(chunk, {}, policy), planned.original)
    return _first_chunk(chunk, planned.plan, _Run(text.version, planned.form), ask, policy, walks, planned.original)


# -- Plans ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Question:
    """All that a plan depends on. Texts of one version are the same text."""

    text: Text = field(compare=False)
    version: str
    name: str
    media_type: str
    first: int | None
    last: int | None
    policy: Policy

    @classmethod
    def of(cls, text: Text, ask: Ask, policy: Policy) -> "_Question":
        first, last = ask.arguments.get("startLine"), ask.arguments.get("endLine")
        return cls(text, text.version, text.name, text.media_type, first, last, policy)


@dataclass(frozen=True, slots=True)
class _Planned:
    form: TextForm
    plan: ChunkPlan
    original: int  # tokens of all the lines that were asked for


@lru_cache(maxsize=256)
def _planned(question: _Question) -> _Planned:
    """Where the text is cut. A text is read whole for this once, and afterwards by its pieces."""
    content, policy = question.text.whole(), question.policy
    first, last = question.first, question.last
    try:
        start, end = chunks.line_range(content, first or 1, last)
    except RangeError as error:
        raise _invalid_range(error) from None
    original = tokens.formula_of_length(end - start)
    form = chunks.detect(question.name, question.media_type, content)
    asked_by_lines = first is not None or last is not None
    whole = original <= policy.chunk_tokens or not policy.chunking or asked_by_lines
    plan = chunks.plan(content, form, _limits(policy, unbounded=whole), first_line=first or 1, last_line=last)
    return _Planned(form, plan, original)


def _read(text: Text, version: str, plan: ChunkPlan, index: int, offset: int = 0) -> Chunk:
    """Raises InvalidCursor when that version is no longer kept."""
    start, end = plan.span(index)
    content = text.read(version, offset + start, offset + end)
    if content is None:
        raise invalid_cursor("cursor_expired", "", "The text that the cursor points into is no longer kept.")
    return plan.chunk(content, index)


def _limits(policy: Policy, *, unbounded: bool) -> Limits:
    """How much a chunk holds; what was asked for by lines, or is short, is divided by the hard cap alone."""
    cap = policy.hard_cap - AROUND

    def weigh(content: str) -> int:
        data = dumps(content)
        chars = length(data) * cap // (MOST_CHARS - AROUND * 4)
        return max(int(tokens.claude.count(data.decode()) * MARGIN) + 1, chars)

    return Limits(
        lines=UNBOUNDED if unbounded else policy.chunk_size,
        tokens=UNBOUNDED if unbounded else policy.chunk_tokens,
        cap=cap,
        measure=tokens.formula,
        weigh=weigh,
    )


def _invalid_range(error: RangeError) -> InvalidArgument:
    return InvalidArgument(
        f"{error.parameter} is {error.value}, which is outside the text or its own range.",
        reason="invalid_range",
        parameter=error.parameter,
        value=error.value,
        expected=error.expected,
        suggestion="Leave startLine and endLine out to read from the start.",
    )


# -- Chunks of a walk -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """What a plan speaks of: a version of a text from an offset on, with the lines and chunks before it."""

    version: str
    form: TextForm
    offset: int = 0
    lines: int = 0
    chunks: int = 0

    def plan(self) -> Mapping[str, Any]:
        return {"run": [self.version, self.form, self.offset, self.lines, self.chunks]}

    @classmethod
    def of(cls, walk: Walk) -> "_Run":
        version, form, *before = walk.plan["run"]
        return cls(version, TextForm(form), *before)


def _first_chunk(
    chunk: Chunk, plan: ChunkPlan, run: _Run, ask: Ask, policy: Policy, walks: Walks, original: int
) -> Envelope:
    walk = walks.begin(ask.operation, ask.caller, ask.arguments, run.plan(), [plan.to_bytes()])
    return _envelope(_body(chunk, _cursor(walk, chunk, walks), policy, run), original, chunked=True)


def _next_chunk(text: Text, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    run, plan, index = _Run.of(walk), ChunkPlan.from_bytes(walks.block(walk, 0)), ask.position
    chunk = _read(text, run.version, plan, index, run.offset)
    body = _body(chunk, _cursor(walk, chunk, walks), policy, run)
    if body.fits(policy):
        return _envelope(body, tokens.formula(chunk.content), chunked=True)
    return _planned_anew(text, ask, run, plan, index, policy, walks)


def _planned_anew(
    text: Text, ask: Ask, run: _Run, plan: ChunkPlan, index: int, policy: Policy, walks: Walks
) -> Envelope:
    """The rest of the text in smaller chunks: the hard cap was lowered during the walk."""
    start, end = plan.span(index)[0], plan.cuts[-1]
    rest = text.read(run.version, run.offset + start, run.offset + end) or ""
    smaller = chunks.plan(rest, run.form, _limits(policy, unbounded=False))
    lines = run.lines + plan.first_lines[index] - 1
    run = _Run(run.version, run.form, run.offset + start, lines, run.chunks + index)
    chunk = smaller.slice(rest, 0)
    return _first_chunk(chunk, smaller, run, ask, policy, walks, tokens.formula(chunk.content))


def _cursor(walk: Walk, chunk: Chunk, walks: Walks) -> dict[str, Any]:
    return {"nextCursor": walks.cursor(walk, chunk.index + 1)} if chunk.index + 1 < chunk.total else {}


def _body(chunk: Chunk, cursor: dict[str, Any], policy: Policy, run: _Run | None = None) -> Body:
    lines, before = (run.lines, run.chunks) if run else (0, 0)
    document = {
        "content": chunk.content,
        "chunkIndex": before + chunk.index,
        "totalChunks": before + chunk.total,
        **cursor,
        "metadata": {
            "startLine": lines + chunk.start_line,
            "endLine": lines + chunk.end_line,
            "totalLines": lines + chunk.total_lines,
            "bytesInChunk": chunk.bytes,
        },
        "meta": {},
    }
    return render(document, policy)


def _envelope(body: Body, original: int, *, chunked: bool = False) -> Envelope:
    return Envelope(
        body=body.data,
        outcome=Outcome.CHUNKED if chunked else Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=original,
        chunked=chunked,
    )
