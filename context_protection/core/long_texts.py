"""Answers texts of more than LONG_TEXT_CHARS. Their plans are made in the background, and stored once for all
callers."""

from dataclasses import astuple, dataclass
from typing import Any
from weakref import ref

from context_protection.core import tokens
from context_protection.core.cursors import Snapshot, SnapshotOrigin, Snapshots
from context_protection.core.payloads import AnswerRequest, Envelope, Text
from context_protection.core.policy import Policy
from context_protection.core.short_texts import PlanKey, first_of_span
from context_protection.core.splitting.chunks import Chunk
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import LineRange
from context_protection.core.splitting.plans import (
    ChunkSizes,
    Excerpt,
    IndexingProgress,
    StoredPlan,
    chunk_start,
    indexing,
)
from context_protection.core.text_envelopes import (
    beside_of,
    body_of,
    cursor,
    envelope_of,
    first_meta,
    first_of_several,
    new_snapshot,
    of_chain,
)
from context_protection.core.text_traits import TextTraits, chunk_sizes_of, reader, traits_of

LONG_TEXT_CHARS = 1_000_000  # longer texts are planned in the background
OWN_PLAN_CHARS = 100_000  # a range up to this long gets its own plan even if the whole text has one


@dataclass(frozen=True, slots=True)
class StoredScope:
    """The part of a text that an excerpt of the stored plan covers. `chunks`: the number of chunks before it."""

    version: str
    traits: TextTraits
    chunk_sizes: ChunkSizes
    excerpt: Excerpt
    chunks: int = 0
    lines = 0  # a stored plan numbers lines within the whole text

    def plan(self) -> dict[str, Any]:
        notes = dict(self.traits.notes)
        return {"kept": [self.version, notes, astuple(self.chunk_sizes), astuple(self.excerpt), self.chunks]}

    @classmethod
    def of(cls, snapshot: Snapshot) -> "StoredScope":
        version, notes, (form, *sizes), excerpt, before = snapshot.plan["kept"]
        chunk_sizes = ChunkSizes(TextForm(form), *sizes)
        return cls(version, TextTraits(chunk_sizes.form, notes), chunk_sizes, Excerpt(*excerpt), before)

    def chunk(self, plan: StoredPlan, index: int, text: Text) -> Chunk:
        return self.excerpt.chunk(plan, index, reader(text, self.version))


def first_answer(
    text: Text, requested: LineRange | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> Envelope:
    if requested is None:
        plan, scope = _whole(text, policy)
        return _first_stored_chunk(text, plan, scope, request, policy, snapshots)
    traits, chunk_sizes = traits_of(text, policy), chunk_sizes_of(text, policy)
    return _range_of_a_long_text(text, requested, traits, chunk_sizes, request, policy, snapshots)


def _whole(text: Text, policy: Policy) -> tuple[StoredPlan, StoredScope]:
    """The plan of the whole text, and its scope. Raises Indexing."""
    plan, chunk_sizes = available_plan(text, chunk_sizes_of(text, policy))
    excerpt = Excerpt(0, text.chars, 1, text.lines, 0, plan.chunks)
    return plan, StoredScope(text.version, traits_of(text, policy), chunk_sizes, excerpt)


def chunk_cursor(text: Text, number: int, origin: SnapshotOrigin, policy: Policy, snapshots: Snapshots) -> str | None:
    """The cursor of this chunk of the whole text; None if the snapshot store is unavailable. Raises Indexing."""
    _, scope = _whole(text, policy)
    snapshot = new_snapshot(text, origin, scope.plan(), [], snapshots)
    return snapshots.cursor(snapshot, number) if snapshot.is_stored else None


def _range_of_a_long_text(
    text: Text,
    requested: LineRange,
    traits: TextTraits,
    chunk_sizes: ChunkSizes,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
) -> Envelope:
    """Answers a range of lines from the stored plan, or from a plan of its own if the range is short or the stored
    plan is not ready. Raises Indexing if the plan is not ready and the range is long."""
    last = min(requested.last or text.lines, text.lines)
    start, end = text.line_start(text.version, requested.first), text.line_start(text.version, last + 1)
    plan = text.plan(text.version, chunk_sizes)
    if isinstance(plan, IndexingProgress):
        if end - start > LONG_TEXT_CHARS:
            raise indexing(plan, _lines_per_call(text), parameter="endLine", value=last)
        return _with_own_plan(text, start, start, end, requested.first, request, policy, snapshots)
    if end - start <= OWN_PLAN_CHARS:
        return _with_own_plan(text, chunk_start(plan, start), start, end, requested.first, request, policy, snapshots)
    excerpt = Excerpt.of(plan, start, end, requested.first, last)
    return _first_stored_chunk(
        text, plan, StoredScope(text.version, traits, chunk_sizes, excerpt), request, policy, snapshots
    )


def _lines_per_call(text: Text) -> int:
    """Roughly how many lines one call can read while the stored plan is not ready."""
    return max(1, int(text.lines * LONG_TEXT_CHARS / max(text.chars, 1) * 0.8))


def _with_own_plan(
    text: Text,
    lead: int,
    start: int,
    end: int,
    first: int,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
) -> Envelope:
    """Answers with a plan of its own for the range `start` to `end`. The plan begins earlier, at `lead`, because chunk
    boundaries depend on the text before `start`. `first`: the line of `start`."""
    before = reader(text, text.version)(lead, start).count("\n")
    chunk_sizes = traits_of(text, policy).chunk_sizes(policy, bounded=False)
    key = PlanKey(ref(text), text.version, chunk_sizes, lead, end, before + 1)
    return first_of_span(key, first - 1 - before, text, request, policy, snapshots)


def _first_stored_chunk(
    text: Text, plan: StoredPlan, scope: StoredScope, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> Envelope:
    snapshot = new_snapshot(text, request.origin, scope.plan(), [], snapshots)
    chunk = scope.chunk(plan, 0, text)
    original = tokens.formula_of_length(scope.excerpt.end - scope.excerpt.start)
    meta = first_meta(text, snapshot, request)
    body = body_of(chunk, scope, cursor(snapshot, chunk, snapshots), policy, request.operation, meta, beside_of(text))
    return first_of_several(body, original, request, snapshot)


def next_chunk(
    text: Text, request: AnswerRequest, snapshot: Snapshot, policy: Policy, snapshots: Snapshots
) -> Envelope:
    scope, index = StoredScope.of(snapshot), request.position
    plan = _stored_plan(text, scope.version, scope.chunk_sizes)
    chunk = scope.chunk(plan, index, text)
    body = body_of(chunk, scope, cursor(snapshot, chunk, snapshots), policy, request.operation)
    if body.fits(policy):
        envelope = envelope_of(body, tokens.formula(chunk.content), chunked=True, baseline=0)
        return of_chain(envelope, snapshot, index)
    return _with_smaller_chunks(text, scope, plan, chunk, request, policy, snapshots)


def _with_smaller_chunks(
    text: Text,
    scope: StoredScope,
    plan: StoredPlan,
    chunk: Chunk,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
) -> Envelope:
    """Continues with a stored plan of smaller chunks, because the hard cap has been lowered since the first chunk."""
    chunk_sizes = scope.traits.chunk_sizes(policy, bounded=policy.chunking)
    smaller = _stored_plan(text, scope.version, chunk_sizes)
    start = scope.excerpt.start_of(plan, chunk.index)
    rest = Excerpt.of(smaller, start, scope.excerpt.end, chunk.start_line, scope.excerpt.end_line)
    continued = StoredScope(scope.version, scope.traits, chunk_sizes, rest, scope.chunks + chunk.index)
    return _first_stored_chunk(text, smaller, continued, request, policy, snapshots)


def available_plan(text: Text, chunk_sizes: ChunkSizes) -> tuple[StoredPlan, ChunkSizes]:
    """The plan of the whole text, and its chunk sizes. While a plan for new chunk sizes is being made, the previous
    plan is used. Raises Indexing if there is none."""
    plan = text.plan(text.version, chunk_sizes)
    if isinstance(plan, IndexingProgress) and plan.former is not None:
        return _stored_plan(text, text.version, plan.former), plan.former
    return _stored_plan(text, text.version, chunk_sizes), chunk_sizes


def _stored_plan(text: Text, version: str, chunk_sizes: ChunkSizes) -> StoredPlan:
    """Raises Indexing while the plan is being made."""
    plan = text.plan(version, chunk_sizes)
    if isinstance(plan, IndexingProgress):
        raise indexing(plan, _lines_per_call(text))
    return plan
