"""Answers a text: whole while it is short, else in chunks at its own boundaries (FR-020 to FR-023).

A text of up to `AT_ONCE` characters is planned within the call, and its snapshot (`Walk`) stores the chunk plan. The
plan of a longer text is made in the background and stored once for all callers; the snapshot refers to it. In both
cases any process can read a chunk without the others, and the number of chunks stays the same to the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from weakref import ref

from context_protection.core import records, tokens
from context_protection.core.budget import Body, dumps, render
from context_protection.core.cursors import Origin, Snapshot, Walk, Walks
from context_protection.core.errors import InvalidArgument, invalid_cursor
from context_protection.core.memory_text import KeptText, MemoryText
from context_protection.core.payloads import Ask, Envelope, Outcome, Record, Text, noting_loss
from context_protection.core.policy import Policy
from context_protection.core.splitting import forms, lines, planner
from context_protection.core.splitting.chunks import Chunk, ChunkPlan
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import RangeError
from context_protection.core.splitting.plans import Cutting, Excerpt, KeptPlan, Making, TextGone, chunk_start, indexing
from context_protection.core.withheld import withheld_in_text

AT_ONCE = 1_000_000  # characters; longer texts are planned in the background
ALONE = 100_000  # characters; a range up to this long gets its own plan even if the whole text has one
HEAD = 20_000  # characters from which the text's form is detected
LONGEST_HEADER = 4000  # bytes of JSON; a longer CSV header is not repeated in each chunk


def answer(text: Text, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Raises InvalidArgument (startLine, endLine), InvalidCursor, Indexing."""
    try:
        if ask.walk is not None:
            return _next_chunk(text, ask, ask.walk, policy, walks)
        return _first_answer(text, ask, policy, walks)
    except TextGone:
        raise invalid_cursor("cursor_expired", "", "The text that the cursor points into is no longer kept.") from None


def _first_answer(text: Text, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    if text.facts is not None:
        return records.answer(Record(dict(text.facts)), ask, policy, walks)
    first, last = ask.arguments.get("startLine"), ask.arguments.get("endLine")
    try:
        lines.check_range(first or 1, last, text.lines)
    except RangeError as error:
        raise _invalid_range(error) from None
    requested = _LineRange(first or 1, last) if first or last else None
    if text.chars > AT_ONCE:
        return _from_a_long_text(text, requested, ask, policy, walks)
    if requested is None:
        key = _PlanKey(ref(text), text.version, whole_cutting(text, policy), 0, text.chars, 1)
    else:  # a requested range is cut by the hard cap only
        cutting = _traits(text, policy).cutting(policy, bounded=False)
        key = _PlanKey(ref(text), text.version, cutting, 0, text.chars, requested.first, requested.last)
    return _from_inline_plan(key, 0, text, ask, policy, walks)


@dataclass(frozen=True, slots=True)
class _LineRange:
    """A range of lines, both ends included. `last` None: to the end of the text."""

    first: int
    last: int | None = None


def _invalid_range(error: RangeError) -> InvalidArgument:
    return InvalidArgument(
        f"{error.parameter} is {error.value}, which is outside the text or its own range.",
        reason="invalid_range",
        parameter=error.parameter,
        value=error.value,
        expected=error.expected,
        suggestion="Leave startLine and endLine out to read from the start.",
    )


def _read(text: Text, version: str) -> Callable[[int, int], str]:
    """Returns a reader of characters `start` to `end`, which raises TextGone."""

    def read(start: int, end: int) -> str:
        content = text.read(version, start, end)
        if content is None:
            raise TextGone
        return content

    return read


def _dereferenced(text: "ref[Text]") -> Text:
    """Dereferences the text. It is alive: the caller of this call holds it."""
    found = text()
    assert found is not None
    return found


# -- Traits of a text -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Traits:
    """A text's form, and the notes that the metadata of each chunk carries besides its lines."""

    form: TextForm
    notes: Mapping[str, str] = field(default_factory=dict)

    def beside(self, start_line: int) -> Mapping[str, str]:
        """The notes for a chunk. The first chunk contains the header itself."""
        return {name: note for name, note in self.notes.items() if name != "header" or start_line > 1}

    def cutting(self, policy: Policy, *, bounded: bool = True) -> Cutting:
        return Cutting.of(self.form, policy, bounded=bounded, beside=dumps(self.notes) if self.notes else b"")


def _traits(text: Text, policy: Policy) -> _Traits:
    traits = _detected_traits(_DetectionKey(ref(text), text.version, text.name, text.media_type, text.encoding))
    header = traits.notes.get("header")
    if header is None or tokens.formula(header) * 8 <= policy.hard_cap:
        return traits
    return _Traits(traits.form, {name: note for name, note in traits.notes.items() if name != "header"})


@dataclass(frozen=True, slots=True)
class _DetectionKey:
    text: "ref[Text]" = field(compare=False)  # weak: a cached result must not keep the whole text in memory
    version: str
    name: str
    media_type: str
    encoding: str


@lru_cache(maxsize=256)
def _detected_traits(key: _DetectionKey) -> _Traits:
    head = _read(_dereferenced(key.text), key.version)(0, HEAD)
    form = forms.detect(key.name, key.media_type, head)
    notes = {} if key.encoding == "utf-8" else {"encoding": key.encoding}
    header = forms.csv_header(head) if form is TextForm.CSV else ""
    if header and len(dumps(header)) <= LONGEST_HEADER:
        notes["header"] = header
    return _Traits(form, notes)


def whole_cutting(text: Text, policy: Policy) -> Cutting:
    """How the whole text is cut: by the policy's chunk sizes, or only by the hard cap if it is short."""
    short = tokens.formula_of_length(text.chars) <= policy.chunk_tokens
    return _traits(text, policy).cutting(policy, bounded=policy.chunking and not short)


# -- Plans made within the call ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PlanKey:
    """The cache key of an inline plan: characters `start` to `end` of a version, lines `first` to `last`."""

    text: "ref[Text]" = field(compare=False)
    version: str
    cutting: Cutting
    start: int
    end: int
    first: int
    last: int | None = None


@lru_cache(maxsize=256)
def _planned(key: _PlanKey) -> ChunkPlan:
    """The chunk plan. Planning reads all characters of the key; later only single chunks are read."""
    content = _read(_dereferenced(key.text), key.version)(key.start, key.end)
    cutting = key.cutting
    return planner.plan(content, cutting.form, cutting.limits, first_line=key.first, last_line=key.last)


@dataclass(frozen=True, slots=True)
class _InlineScope:
    """The part of a text that the snapshot's own plan covers: a version from `offset` on. `lines` and `chunks` count
    those before it."""

    version: str
    traits: _Traits
    offset: int = 0
    lines: int = 0
    chunks: int = 0

    def plan(self) -> dict[str, Any]:
        return {"run": [self.version, self.traits.form, dict(self.traits.notes), self.offset, self.lines, self.chunks]}

    @classmethod
    def of(cls, walk: Walk) -> "_InlineScope":
        version, form, notes, *before = walk.plan["run"]
        return cls(version, _Traits(TextForm(form), notes), *before)


def _from_inline_plan(key: _PlanKey, lines: int, text: Text, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Answers with the first chunk of the planned span. `lines` is the number of lines before the span."""
    planned = replace(_planned(key), total_lines=text.lines - lines)
    original = tokens.formula_of_length(planned.cuts[-1] - planned.cuts[0])
    scope = _InlineScope(key.version, _traits(text, policy), key.start, lines)
    return _first_chunk(text, planned, scope, ask, policy, walks, original)


def _first_chunk(
    text: Text, plan: ChunkPlan, scope: _InlineScope, ask: Ask, policy: Policy, walks: Walks, original: int
) -> Envelope:
    start, end = plan.span(0)
    chunk = plan.chunk(_read(text, scope.version)(scope.offset + start, scope.offset + end), 0)
    if plan.chunks == 1 and not scope.chunks:
        meta = {**_note(text), **_handle_beyond(chunk, text, scope, ask, walks)}
        return _envelope(_body(chunk, scope, {}, policy, meta), original)
    walk = _new_walk(text, ask.origin, scope.plan(), [plan.to_bytes()], walks)
    body = _body(chunk, scope, _cursor(walk, chunk, walks), policy, _meta(text, walk, ask))
    return _first_of_several(body, original, ask, walk)


def _next_chunk(text: Text, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    if "kept" in walk.plan:
        return _next_stored_chunk(text, ask, walk, policy, walks)
    scope, plan, index = _InlineScope.of(walk), ChunkPlan.from_bytes(walks.block(walk, 0)), ask.position
    start, end = plan.span(index)
    chunk = plan.chunk(_read(text, scope.version)(scope.offset + start, scope.offset + end), index)
    body = _body(chunk, scope, _cursor(walk, chunk, walks), policy)
    if body.fits(policy):
        return _envelope(body, tokens.formula(chunk.content), chunked=True, baseline=0)
    return _replanned(text, ask, scope, plan, index, policy, walks)


def _replanned(
    text: Text, ask: Ask, scope: _InlineScope, plan: ChunkPlan, index: int, policy: Policy, walks: Walks
) -> Envelope:
    """Cuts the rest of the text into smaller chunks, because the hard cap was lowered since the first chunk."""
    start, end = plan.span(index)[0], plan.cuts[-1]
    rest = _read(text, scope.version)(scope.offset + start, scope.offset + end)
    smaller = planner.plan(rest, scope.traits.form, scope.traits.cutting(policy).limits)
    lines = scope.lines + plan.first_lines[index] - 1
    smaller = replace(smaller, total_lines=scope.lines + plan.total_lines - lines)
    scope = _InlineScope(scope.version, scope.traits, scope.offset + start, lines, scope.chunks + index)
    return _first_chunk(text, smaller, scope, ask, policy, walks, tokens.formula_of_length(smaller.span(0)[1]))


# -- Stored plans -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StoredScope:
    """The part of a text that an excerpt of the stored plan covers. `chunks` counts the chunks before it."""

    version: str
    traits: _Traits
    cutting: Cutting
    excerpt: Excerpt
    chunks: int = 0
    lines = 0  # a stored plan numbers lines within the whole text

    def plan(self) -> dict[str, Any]:
        notes = dict(self.traits.notes)
        return {"kept": [self.version, notes, astuple(self.cutting), astuple(self.excerpt), self.chunks]}

    @classmethod
    def of(cls, walk: Walk) -> "_StoredScope":
        version, notes, (form, *sizes), excerpt, before = walk.plan["kept"]
        cutting = Cutting(TextForm(form), *sizes)
        return cls(version, _Traits(cutting.form, notes), cutting, Excerpt(*excerpt), before)

    def chunk(self, plan: KeptPlan, index: int, text: Text) -> Chunk:
        return self.excerpt.chunk(plan, index, _read(text, self.version))


def _from_a_long_text(text: Text, requested: _LineRange | None, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    traits, cutting = _traits(text, policy), whole_cutting(text, policy)
    if requested is None:
        plan = _stored_plan(text, text.version, cutting)
        excerpt = Excerpt(0, text.chars, 1, text.lines, 0, plan.chunks)
        return _first_stored_chunk(text, plan, _StoredScope(text.version, traits, cutting, excerpt), ask, policy, walks)
    return _range_of_a_long_text(text, requested, traits, cutting, ask, policy, walks)


def _range_of_a_long_text(
    text: Text, requested: _LineRange, traits: _Traits, cutting: Cutting, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    """Answers a range of lines by the stored plan, or by a plan of its own if the range is short or the stored plan
    is not ready. Raises Indexing for a long range before then."""
    last = min(requested.last or text.lines, text.lines)
    start, end = text.line_start(text.version, requested.first), text.line_start(text.version, last + 1)
    plan = text.plan(text.version, cutting)
    if isinstance(plan, Making):
        if end - start > AT_ONCE:
            raise indexing(plan, _lines_at_once(text), parameter="endLine", value=last)
        return _planned_alone(text, start, start, end, requested.first, ask, policy, walks)
    if end - start <= ALONE:
        return _planned_alone(text, chunk_start(plan, start), start, end, requested.first, ask, policy, walks)
    excerpt = Excerpt.of(plan, start, end, requested.first, last)
    return _first_stored_chunk(text, plan, _StoredScope(text.version, traits, cutting, excerpt), ask, policy, walks)


def _lines_at_once(text: Text) -> int:
    """Roughly how many lines one call can read while the stored plan is not ready."""
    return max(1, int(text.lines * AT_ONCE / max(text.chars, 1) * 0.8))


def _planned_alone(
    text: Text, lead: int, start: int, end: int, first: int, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    """Plans the characters up to `end` on their own, from `lead` on: boundaries depend on the text before `start`."""
    before = _read(text, text.version)(lead, start).count("\n")
    cutting = _traits(text, policy).cutting(policy, bounded=False)
    key = _PlanKey(ref(text), text.version, cutting, lead, end, before + 1)
    return _from_inline_plan(key, first - 1 - before, text, ask, policy, walks)


def _first_stored_chunk(
    text: Text, plan: KeptPlan, scope: _StoredScope, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    walk = _new_walk(text, ask.origin, scope.plan(), [], walks)
    chunk = scope.chunk(plan, 0, text)
    original = tokens.formula_of_length(scope.excerpt.end - scope.excerpt.start)
    body = _body(chunk, scope, _cursor(walk, chunk, walks), policy, _meta(text, walk, ask))
    return _first_of_several(body, original, ask, walk)


def _next_stored_chunk(text: Text, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    scope, index = _StoredScope.of(walk), ask.position
    plan = _stored_plan(text, scope.version, scope.cutting)
    chunk = scope.chunk(plan, index, text)
    body = _body(chunk, scope, _cursor(walk, chunk, walks), policy)
    if body.fits(policy):
        return _envelope(body, tokens.formula(chunk.content), chunked=True, baseline=0)
    return _stored_replanned(text, scope, plan, chunk, ask, policy, walks)


def _stored_replanned(
    text: Text, scope: _StoredScope, plan: KeptPlan, chunk: Chunk, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    """Continues with the stored plan of smaller chunks, because the hard cap was lowered since the first chunk."""
    cutting = scope.traits.cutting(policy, bounded=policy.chunking)
    smaller = _stored_plan(text, scope.version, cutting)
    start = scope.excerpt.start_of(plan, chunk.index)
    rest = Excerpt.of(smaller, start, scope.excerpt.end, chunk.start_line, scope.excerpt.end_line)
    continued = _StoredScope(scope.version, scope.traits, cutting, rest, scope.chunks + chunk.index)
    return _first_stored_chunk(text, smaller, continued, ask, policy, walks)


def _stored_plan(text: Text, version: str, cutting: Cutting) -> KeptPlan:
    """Raises Indexing while the plan is being made."""
    plan = text.plan(version, cutting)
    if isinstance(plan, Making):
        raise indexing(plan, _lines_at_once(text))
    return plan


def _new_walk(text: Text, origin: Origin, plan: Mapping[str, Any], blocks: Sequence[bytes], walks: Walks) -> Walk:
    """Begins a snapshot. It also stores the text itself if no one else does (`MemoryText`, `KeptText`)."""
    if not isinstance(text, (MemoryText, KeptText)):
        return walks.begin(Snapshot(origin, plan, blocks))
    description = text.told(len(blocks))
    return walks.begin(Snapshot(origin, {**plan, "text": description}, [*blocks, *text.blocks()]))


# -- The envelope -----------------------------------------------------------------------------------


def _cursor(walk: Walk, chunk: Chunk, walks: Walks) -> dict[str, Any]:
    return {"nextCursor": walks.cursor(walk, chunk.index + 1)} if walk.is_kept and chunk.index + 1 < chunk.total else {}


def _meta(text: Text, walk: Walk, ask: Ask) -> Mapping[str, Any]:
    """The `meta` of a first chunk: the text's note, and the handle to the whole text."""
    if not walk.is_kept:
        return noting_loss(_note(text))
    return {**_note(text), **({"resultHandle": walk.id} if ask.result_operation and ask.walk is None else {})}


def _note(text: Text) -> Mapping[str, Any]:
    """The text's note for `meta`, such as its age. A stored text has none: its first answer carried the note."""
    return text.note if isinstance(text, MemoryText) else {}


def _handle_beyond(chunk: Chunk, text: Text, scope: _InlineScope, ask: Ask, walks: Walks) -> dict[str, str]:
    """A handle to the whole text, for an answer with only some of its lines: a search then needs no chunk."""
    if not ask.result_operation or chunk.end_line - chunk.start_line + 1 >= text.lines:
        return {}
    whole = {name: value for name, value in ask.arguments.items() if name not in ("startLine", "endLine")}
    origin = Origin(ask.operation, ask.caller, whole)
    walk = _new_walk(text, origin, _InlineScope(scope.version, scope.traits).plan(), [], walks)
    return {"resultHandle": walk.id} if walk.is_kept else {}


def version_of(walk: Walk) -> str:
    """The version of the text that the snapshot covers."""
    version: str = (walk.plan.get("run") or walk.plan["kept"])[0]
    return version


def _body(
    chunk: Chunk,
    place: _InlineScope | _StoredScope,
    cursor: dict[str, Any],
    policy: Policy,
    meta: Mapping[str, Any] = MappingProxyType({}),
) -> Body:
    start_line = place.lines + chunk.start_line
    document = {
        "content": chunk.content,
        "chunkIndex": place.chunks + chunk.index,
        "totalChunks": place.chunks + chunk.total,
        **cursor,
        "metadata": {
            "startLine": start_line,
            "endLine": place.lines + chunk.end_line,
            "totalLines": place.lines + chunk.total_lines,
            "bytesInChunk": chunk.bytes,
            **place.traits.beside(start_line),
        },
        "meta": dict(meta),
    }
    return render(document, policy)


def _first_of_several(body: Body, original: int, ask: Ask, walk: Walk) -> Envelope:
    """The first of several chunks. It counts the whole requested text as its baseline; later chunks count 0."""
    envelope = _envelope(body, original, chunked=True, baseline=None if ask.walk is None else 0)
    return replace(envelope, is_complete=walk.is_kept)


def _envelope(body: Body, original: int, *, chunked: bool = False, baseline: int | None = None) -> Envelope:
    return Envelope(
        body=body.data,
        outcome=Outcome.CHUNKED if chunked else Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=original,
        baseline_tokens=baseline,
        chunked=chunked,
        withheld=withheld_in_text(body.data.decode()),
    )
