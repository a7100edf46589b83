"""Answers texts of up to LONG_TEXT_CHARS. They are planned within the call, and their snapshots store the chunk
plan."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from weakref import ref

from context_protection.core import tokens
from context_protection.core.cursors import Snapshot, SnapshotOrigin, Snapshots
from context_protection.core.payloads import AnswerRequest, Envelope, Text
from context_protection.core.policy import Policy
from context_protection.core.splitting import planner
from context_protection.core.splitting.chunks import Chunk, ChunkPlan
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import LineRange
from context_protection.core.splitting.plans import (
    ChunkSizes,
)
from context_protection.core.text_envelopes import (
    beside_of,
    body_of,
    cursor,
    envelope_of,
    first_meta,
    first_of_several,
    new_snapshot,
    note_of,
    of_chain,
)
from context_protection.core.text_traits import TextTraits, chunk_sizes_of, dereferenced, reader, traits_of


@dataclass(frozen=True, slots=True)
class PlanKey:
    """The cache key of an inline plan: characters `start` to `end` of a version, lines `first` to `last`."""

    text: "ref[Text]" = field(compare=False)
    version: str
    chunk_sizes: ChunkSizes
    start: int
    end: int
    first: int
    last: int | None = None


def whole_plan(text: Text, policy: Policy) -> ChunkPlan:
    """The chunk plan for the whole text."""
    return _planned(_whole(text, policy))


def _whole(text: Text, policy: Policy) -> PlanKey:
    return PlanKey(ref(text), text.version, chunk_sizes_of(text, policy), 0, text.chars, 1)


def chunk_cursor(text: Text, number: int, origin: SnapshotOrigin, policy: Policy, snapshots: Snapshots) -> str | None:
    """The cursor of this chunk of the whole text; None if the snapshot store is unavailable."""
    plan, scope = whole_plan(text, policy), InlineScope(text.version, traits_of(text, policy))
    snapshot = new_snapshot(text, origin, scope.plan(), [plan.to_bytes()], snapshots)
    return snapshots.cursor(snapshot, number) if snapshot.is_stored else None


@lru_cache(maxsize=256)
def _planned(key: PlanKey) -> ChunkPlan:
    """The chunk plan. Planning reads all characters of the key; later only single chunks are read."""
    content = reader(dereferenced(key.text), key.version)(key.start, key.end)
    chunk_sizes = key.chunk_sizes
    return planner.plan(content, chunk_sizes.form, chunk_sizes.limits, first_line=key.first, last_line=key.last)


@dataclass(frozen=True, slots=True)
class InlineScope:
    """The part of a text that the snapshot's own plan covers: a version from `offset` on. `lines` and `chunks`: how
    many precede it."""

    version: str
    traits: TextTraits
    offset: int = 0
    lines: int = 0
    chunks: int = 0

    def plan(self) -> dict[str, Any]:
        return {"run": [self.version, self.traits.form, dict(self.traits.notes), self.offset, self.lines, self.chunks]}

    @classmethod
    def of(cls, snapshot: Snapshot) -> "InlineScope":
        version, form, notes, *before = snapshot.plan["run"]
        return cls(version, TextTraits(TextForm(form), notes), *before)


def first_answer(
    text: Text, requested: LineRange | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> Envelope:
    if requested is None:
        key = _whole(text, policy)
    else:  # a requested range is cut by the hard cap only
        chunk_sizes = traits_of(text, policy).chunk_sizes(policy, bounded=False)
        key = PlanKey(ref(text), text.version, chunk_sizes, 0, text.chars, requested.first, requested.last)
    return first_of_span(key, 0, text, request, policy, snapshots)


def first_of_span(
    key: PlanKey, lines: int, text: Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> Envelope:
    """Answers with the first chunk of the planned span. `lines` is the number of lines before the span."""
    planned = replace(_planned(key), total_lines=text.lines - lines)
    original = tokens.formula_of_length(planned.cuts[-1] - planned.cuts[0])
    scope = InlineScope(key.version, traits_of(text, policy), key.start, lines)
    return _first_chunk(text, planned, scope, request, policy, snapshots, original)


def _first_chunk(
    text: Text,
    plan: ChunkPlan,
    scope: InlineScope,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
    original: int,
) -> Envelope:
    start, end = plan.span(0)
    chunk = plan.chunk(reader(text, scope.version)(scope.offset + start, scope.offset + end), 0)
    if plan.chunks == 1 and not scope.chunks:
        meta = {**note_of(text), **_handle_beyond(chunk, text, scope, request, snapshots)}
        return envelope_of(body_of(chunk, scope, {}, policy, request.operation, meta, beside_of(text)), original)
    snapshot = new_snapshot(text, request.origin, scope.plan(), [plan.to_bytes()], snapshots)
    first = first_meta(text, snapshot, request)
    body = body_of(chunk, scope, cursor(snapshot, chunk, snapshots), policy, request.operation, first, beside_of(text))
    return first_of_several(body, original, request, snapshot)


def next_chunk(
    text: Text, request: AnswerRequest, snapshot: Snapshot, policy: Policy, snapshots: Snapshots
) -> Envelope:
    scope, plan, index = InlineScope.of(snapshot), ChunkPlan.from_bytes(snapshots.block(snapshot, 0)), request.position
    start, end = plan.span(index)
    chunk = plan.chunk(reader(text, scope.version)(scope.offset + start, scope.offset + end), index)
    body = body_of(chunk, scope, cursor(snapshot, chunk, snapshots), policy, request.operation)
    if body.fits(policy):
        envelope = envelope_of(body, tokens.formula(chunk.content), chunked=True, baseline=0)
        return of_chain(envelope, snapshot, index)
    return _replanned(text, request, scope, plan, index, policy, snapshots)


def _replanned(
    text: Text,
    request: AnswerRequest,
    scope: InlineScope,
    plan: ChunkPlan,
    index: int,
    policy: Policy,
    snapshots: Snapshots,
) -> Envelope:
    """Cuts the rest of the text into smaller chunks, because the hard cap was lowered since the first chunk."""
    start, end = plan.span(index)[0], plan.cuts[-1]
    rest = reader(text, scope.version)(scope.offset + start, scope.offset + end)
    smaller = planner.plan(rest, scope.traits.form, scope.traits.chunk_sizes(policy).limits)
    lines = scope.lines + plan.first_lines[index] - 1
    smaller = replace(smaller, total_lines=scope.lines + plan.total_lines - lines)
    scope = InlineScope(scope.version, scope.traits, scope.offset + start, lines, scope.chunks + index)
    return _first_chunk(text, smaller, scope, request, policy, snapshots, tokens.formula_of_length(smaller.span(0)[1]))


def _handle_beyond(
    chunk: Chunk, text: Text, scope: InlineScope, request: AnswerRequest, snapshots: Snapshots
) -> dict[str, str]:
    """A handle to the whole text, for an answer with only some of its lines: a search then needs no further chunk."""
    if not request.result_operation or chunk.end_line - chunk.start_line + 1 >= text.lines:
        return {}
    snapshot = whole_snapshot(text, scope.traits, request, snapshots)
    return {"resultHandle": snapshot.id} if snapshot.is_stored else {}


def whole_snapshot(text: Text, traits: TextTraits, request: AnswerRequest, snapshots: Snapshots) -> Snapshot:
    """A snapshot of the whole text, whatever its length. Its id is the text's handle."""
    whole = {name: value for name, value in request.arguments.items() if name not in ("startLine", "endLine")}
    origin = SnapshotOrigin(request.operation, request.caller, whole)
    return new_snapshot(text, origin, InlineScope(text.version, traits).plan(), [], snapshots)
