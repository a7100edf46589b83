"""A text's answer: whole while it is short, else in chunks on its own boundaries (FR-020 to FR-023).

Where a text of up to `AT_ONCE` characters is cut is found in the call, and the walk keeps it. Where a longer one is
cut was found before, in the background, and is kept for all: the walk refers to it. Either way a chunk is read by
itself, in whatever process, and their number stays the same to the end.
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
from context_protection.core.splitting import forms, lines, planning
from context_protection.core.splitting.chunks import Chunk, ChunkPlan
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import RangeError
from context_protection.core.splitting.plans import Cutting, Excerpt, KeptPlan, Making, TextGone, chunk_start, indexing
from context_protection.core.withheld import withheld_in_text

AT_ONCE = 1_000_000  # characters that are planned within a call
ALONE = 100_000  # characters of a range that is planned by itself although the whole text's plan is there
HEAD = 20_000  # characters that show what form a text has
LONGEST_HEADER = 4000  # characters of a CSV header that is repeated


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
    asked = _Lines(first or 1, last) if first or last else None
    if text.chars > AT_ONCE:
        return _from_a_long_text(text, asked, ask, policy, walks)
    if asked is None:
        question = _Question(ref(text), text.version, whole_cutting(text, policy), 0, text.chars, 1)
    else:  # divided by the hard cap alone
        cutting = _looks(text, policy).cutting(policy, bounded=False)
        question = _Question(ref(text), text.version, cutting, 0, text.chars, asked.first, asked.last)
    return _from_a_plan(question, 0, text, ask, policy, walks)


@dataclass(frozen=True, slots=True)
class _Lines:
    """A range of lines, both inclusive; without `last`, to the end."""

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
    """Reads characters. Raises TextGone."""

    def read(start: int, end: int) -> str:
        content = text.read(version, start, end)
        if content is None:
            raise TextGone
        return content

    return read


def _alive(text: "ref[Text]") -> Text:
    """The text of whoever asks, who holds it."""
    found = text()
    assert found is not None
    return found


# -- What a text looks like -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Looks:
    """The form of a text, and what the metadata of its chunks says beside their lines."""

    form: TextForm
    notes: Mapping[str, str] = field(default_factory=dict)

    def beside(self, start_line: int) -> Mapping[str, str]:
        """The notes on a chunk: the header is no news where the chunk begins with it."""
        return {name: note for name, note in self.notes.items() if name != "header" or start_line > 1}

    def cutting(self, policy: Policy, *, bounded: bool = True) -> Cutting:
        return Cutting.of(self.form, policy, bounded=bounded, beside=dumps(self.notes) if self.notes else b"")


def _looks(text: Text, policy: Policy) -> _Looks:
    looks = _looks_of(_Sight(ref(text), text.version, text.name, text.media_type, text.encoding))
    header = looks.notes.get("header")
    if header is None or tokens.formula(header) * 8 <= policy.hard_cap:
        return looks
    return _Looks(looks.form, {name: note for name, note in looks.notes.items() if name != "header"})


@dataclass(frozen=True, slots=True)
class _Sight:
    text: "ref[Text]" = field(compare=False)  # what is remembered of a text must not hold all of it
    version: str
    name: str
    media_type: str
    encoding: str


@lru_cache(maxsize=256)
def _looks_of(sight: _Sight) -> _Looks:
    head = _read(_alive(sight.text), sight.version)(0, HEAD)
    form = forms.detect(sight.name, sight.media_type, head)
    notes = {} if sight.encoding == "utf-8" else {"encoding": sight.encoding}
    header = forms.csv_header(head) if form is TextForm.CSV else ""
    if header and len(dumps(header)) <= LONGEST_HEADER:
        notes["header"] = header
    return _Looks(form, notes)


def whole_cutting(text: Text, policy: Policy) -> Cutting:
    """How the whole text is cut: by the policy's sizes, or, if it is short, by the hard cap alone."""
    short = tokens.formula_of_length(text.chars) <= policy.chunk_tokens
    return _looks(text, policy).cutting(policy, bounded=policy.chunking and not short)


# -- Plans that are made in the call ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Question:
    """All that such a plan depends on: the characters `start` to `end` of a version, and which lines of them."""

    text: "ref[Text]" = field(compare=False)
    version: str
    cutting: Cutting
    start: int
    end: int
    first: int
    last: int | None = None


@lru_cache(maxsize=256)
def _planned(question: _Question) -> ChunkPlan:
    """Where the text is cut. It is read whole for this once, and afterwards by its pieces."""
    content = _read(_alive(question.text), question.version)(question.start, question.end)
    cutting = question.cutting
    return planning.plan(content, cutting.form, cutting.limits, first_line=question.first, last_line=question.last)


@dataclass(frozen=True, slots=True)
class _Run:
    """What a plan speaks of: a version of a text from an offset on, with the lines and chunks before it."""

    version: str
    looks: _Looks
    offset: int = 0
    lines: int = 0
    chunks: int = 0

    def plan(self) -> dict[str, Any]:
        return {"run": [self.version, self.looks.form, dict(self.looks.notes), self.offset, self.lines, self.chunks]}

    @classmethod
    def of(cls, walk: Walk) -> "_Run":
        version, form, notes, *before = walk.plan["run"]
        return cls(version, _Looks(TextForm(form), notes), *before)


def _from_a_plan(question: _Question, lines: int, text: Text, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """The first chunk of what the question is about; so many lines are before its first character."""
    planned = replace(_planned(question), total_lines=text.lines - lines)
    original = tokens.formula_of_length(planned.cuts[-1] - planned.cuts[0])
    run = _Run(question.version, _looks(text, policy), question.start, lines)
    return _first_chunk(text, planned, run, ask, policy, walks, original)


def _first_chunk(
    text: Text, plan: ChunkPlan, run: _Run, ask: Ask, policy: Policy, walks: Walks, original: int
) -> Envelope:
    start, end = plan.span(0)
    chunk = plan.chunk(_read(text, run.version)(run.offset + start, run.offset + end), 0)
    if plan.chunks == 1 and not run.chunks:
        meta = {**_note(text), **_handle_beyond(chunk, text, run, ask, walks)}
        return _envelope(_body(chunk, run, {}, policy, meta), original)
    walk = _begun(text, ask.origin, run.plan(), [plan.to_bytes()], walks)
    body = _body(chunk, run, _cursor(walk, chunk, walks), policy, _meta(text, walk, ask))
    return _first_of_several(body, original, ask, walk)


def _next_chunk(text: Text, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    if "kept" in walk.plan:
        return _next_kept_chunk(text, ask, walk, policy, walks)
    run, plan, index = _Run.of(walk), ChunkPlan.from_bytes(walks.block(walk, 0)), ask.position
    start, end = plan.span(index)
    chunk = plan.chunk(_read(text, run.version)(run.offset + start, run.offset + end), index)
    body = _body(chunk, run, _cursor(walk, chunk, walks), policy)
    if body.fits(policy):
        return _envelope(body, tokens.formula(chunk.content), chunked=True, baseline=0)
    return _planned_anew(text, ask, run, plan, index, policy, walks)


def _planned_anew(
    text: Text, ask: Ask, run: _Run, plan: ChunkPlan, index: int, policy: Policy, walks: Walks
) -> Envelope:
    """The rest of the text in smaller chunks: the hard cap was lowered during the walk."""
    start, end = plan.span(index)[0], plan.cuts[-1]
    rest = _read(text, run.version)(run.offset + start, run.offset + end)
    smaller = planning.plan(rest, run.looks.form, run.looks.cutting(policy).limits)
    lines = run.lines + plan.first_lines[index] - 1
    smaller = replace(smaller, total_lines=run.lines + plan.total_lines - lines)
    run = _Run(run.version, run.looks, run.offset + start, lines, run.chunks + index)
    return _first_chunk(text, smaller, run, ask, policy, walks, tokens.formula_of_length(smaller.span(0)[1]))


# -- Plans that are kept ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a walk refers to: an excerpt of the plan of a version, with the chunks before it."""

    version: str
    looks: _Looks
    cutting: Cutting
    excerpt: Excerpt
    chunks: int = 0
    lines = 0  # a kept plan counts them in the whole text

    def plan(self) -> dict[str, Any]:
        notes = dict(self.looks.notes)
        return {"kept": [self.version, notes, astuple(self.cutting), astuple(self.excerpt), self.chunks]}

    @classmethod
    def of(cls, walk: Walk) -> "_Kept":
        version, notes, (form, *sizes), excerpt, before = walk.plan["kept"]
        cutting = Cutting(TextForm(form), *sizes)
        return cls(version, _Looks(cutting.form, notes), cutting, Excerpt(*excerpt), before)

    def chunk(self, plan: KeptPlan, index: int, text: Text) -> Chunk:
        return self.excerpt.chunk(plan, index, _read(text, self.version))


def _from_a_long_text(text: Text, asked: _Lines | None, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    looks, cutting = _looks(text, policy), whole_cutting(text, policy)
    if asked is None:
        plan = _kept_plan(text, text.version, cutting)
        excerpt = Excerpt(0, text.chars, 1, text.lines, 0, plan.chunks)
        return _first_kept_chunk(text, plan, _Kept(text.version, looks, cutting, excerpt), ask, policy, walks)
    return _range_of_a_long_text(text, asked, looks, cutting, ask, policy, walks)


def _range_of_a_long_text(
    text: Text, asked: _Lines, looks: _Looks, cutting: Cutting, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    """By the kept plan where there is one, or alone where it is small: lines can be read before there is a plan."""
    last = min(asked.last or text.lines, text.lines)
    start, end = text.line_start(text.version, asked.first), text.line_start(text.version, last + 1)
    plan = text.plan(text.version, cutting)
    if isinstance(plan, Making):
        if end - start > AT_ONCE:
            raise indexing(plan, _lines_at_once(text), parameter="endLine", value=last)
        return _alone(text, start, start, end, asked.first, ask, policy, walks)
    if end - start <= ALONE:
        return _alone(text, chunk_start(plan, start), start, end, asked.first, ask, policy, walks)
    excerpt = Excerpt.of(plan, start, end, asked.first, last)
    return _first_kept_chunk(text, plan, _Kept(text.version, looks, cutting, excerpt), ask, policy, walks)


def _lines_at_once(text: Text) -> int:
    """About how many lines can be read while there is no plan."""
    return max(1, int(text.lines * AT_ONCE / max(text.chars, 1) * 0.8))


def _alone(text: Text, lead: int, start: int, end: int, first: int, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """The characters `start` to `end`, planned by themselves, in sight of what is before them from `lead` on."""
    before = _read(text, text.version)(lead, start).count("\n")
    cutting = _looks(text, policy).cutting(policy, bounded=False)
    question = _Question(ref(text), text.version, cutting, lead, end, before + 1)
    return _from_a_plan(question, first - 1 - before, text, ask, policy, walks)


def _first_kept_chunk(text: Text, plan: KeptPlan, kept: _Kept, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    walk = _begun(text, ask.origin, kept.plan(), [], walks)
    chunk = kept.chunk(plan, 0, text)
    original = tokens.formula_of_length(kept.excerpt.end - kept.excerpt.start)
    body = _body(chunk, kept, _cursor(walk, chunk, walks), policy, _meta(text, walk, ask))
    return _first_of_several(body, original, ask, walk)


def _next_kept_chunk(text: Text, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    kept, index = _Kept.of(walk), ask.position
    plan = _kept_plan(text, kept.version, kept.cutting)
    chunk = kept.chunk(plan, index, text)
    body = _body(chunk, kept, _cursor(walk, chunk, walks), policy)
    if body.fits(policy):
        return _envelope(body, tokens.formula(chunk.content), chunked=True, baseline=0)
    return _kept_anew(text, kept, plan, chunk, ask, policy, walks)


def _kept_anew(
    text: Text, kept: _Kept, plan: KeptPlan, chunk: Chunk, ask: Ask, policy: Policy, walks: Walks
) -> Envelope:
    """The rest by the plan of smaller chunks: the hard cap was lowered during the walk."""
    cutting = kept.looks.cutting(policy, bounded=policy.chunking)
    smaller = _kept_plan(text, kept.version, cutting)
    start = kept.excerpt.start_of(plan, chunk.index)
    rest = Excerpt.of(smaller, start, kept.excerpt.end, chunk.start_line, kept.excerpt.end_line)
    going_on = _Kept(kept.version, kept.looks, cutting, rest, kept.chunks + chunk.index)
    return _first_kept_chunk(text, smaller, going_on, ask, policy, walks)


def _kept_plan(text: Text, version: str, cutting: Cutting) -> KeptPlan:
    """Raises Indexing while it is made."""
    plan = text.plan(version, cutting)
    if isinstance(plan, Making):
        raise indexing(plan, _lines_at_once(text))
    return plan


def _begun(text: Text, origin: Origin, plan: Mapping[str, Any], blocks: Sequence[bytes], walks: Walks) -> Walk:
    """A new walk. It keeps a text that nobody else does."""
    if not isinstance(text, (MemoryText, KeptText)):
        return walks.begin(Snapshot(origin, plan, blocks))
    told = text.told(len(blocks))
    return walks.begin(Snapshot(origin, {**plan, "text": told}, [*blocks, *text.blocks()]))


# -- The envelope -----------------------------------------------------------------------------------


def _cursor(walk: Walk, chunk: Chunk, walks: Walks) -> dict[str, Any]:
    return {"nextCursor": walks.cursor(walk, chunk.index + 1)} if walk.is_kept and chunk.index + 1 < chunk.total else {}


def _meta(text: Text, walk: Walk, ask: Ask) -> Mapping[str, Any]:
    """On a walk's first chunk: the handle to all of the text."""
    if not walk.is_kept:
        return noting_loss(_note(text))
    return {**_note(text), **({"resultHandle": walk.id} if ask.result_operation and ask.walk is None else {})}


def _note(text: Text) -> Mapping[str, Any]:
    """What a first answer says of it: since when it is as it is. What a walk keeps has been told of."""
    return text.note if isinstance(text, MemoryText) else {}


def _handle_beyond(chunk: Chunk, text: Text, run: _Run, ask: Ask, walks: Walks) -> dict[str, str]:
    """To all of the text, on some lines of it that fit: a search from there costs no chunk."""
    if not ask.result_operation or chunk.end_line - chunk.start_line + 1 >= text.lines:
        return {}
    whole = {name: value for name, value in ask.arguments.items() if name not in ("startLine", "endLine")}
    origin = Origin(ask.operation, ask.caller, whole)
    walk = _begun(text, origin, _Run(run.version, run.looks).plan(), [], walks)
    return {"resultHandle": walk.id} if walk.is_kept else {}


def version_of(walk: Walk) -> str:
    """The version of the text that a walk goes over."""
    version: str = (walk.plan.get("run") or walk.plan["kept"])[0]
    return version


def _body(
    chunk: Chunk,
    place: _Run | _Kept,
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
            **place.looks.beside(start_line),
        },
        "meta": dict(meta),
    }
    return render(document, policy)


def _first_of_several(body: Body, original: int, ask: Ask, walk: Walk) -> Envelope:
    """Counted as all that was asked for, once: the chunks that follow cost."""
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
