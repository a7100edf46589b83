"""An answer as a client would get it under a policy. It has the real protection, but nothing is stored or recorded."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from asgiref.sync import async_to_sync

from context_protection.core import masks
from context_protection.core.cursors import Snapshots
from context_protection.core.errors import CallError
from context_protection.core.payloads import AnswerRequest, Envelope, Outcome, Payload
from context_protection.core.policy import Policy
from context_protection.core.protect import protect
from context_protection.core.redaction import Visibility
from context_protection.core.tokens import claude, formula
from context_protection.core.upstream_pages import PagedRows
from context_protection.stores.snapshots import snapshots
from context_protection.stores.transient import TransientSnapshots
from gateway.catalog.operation import NativeResult
from gateway.dispatch.redaction import redacted
from gateway.threads.limits import on_thread
from telemetry import wording

LIMIT_KEY = "preview"  # previews share one concurrency limit
SHOWN = 200_000  # the most characters of an answer that are shown


@dataclass(frozen=True, slots=True)
class PreviewSource:
    """Fetched data to protect, and the request for it. `basis`: where the data is from, as a sentence."""

    request: AnswerRequest
    payload: Payload | NativeResult
    basis: str


@dataclass(frozen=True, slots=True)
class PreviewedAnswer:
    """`lines`: the body with line breaks added, one for each row or member. `left_out`: what the answer lacks, in
    words. `is_refused`: the call gets an error, which is the body."""

    lines: tuple[str, ...]
    claude_tokens: int
    formula_tokens: int
    original_tokens: int
    outcome: str
    items: int
    total_rows: int
    left_out: tuple[str, ...] = ()
    is_refused: bool = False
    is_shortened: bool = False

    @property
    def in_words(self) -> str:
        return wording.plural(self.claude_tokens, "token")

    @property
    def formula_in_words(self) -> str:
        return f"formula {wording.whole(self.formula_tokens)}"

    @property
    def is_paged(self) -> bool:
        return self.outcome in (Outcome.PAGINATED, Outcome.CHUNKED)


def previewed(source: PreviewSource, policy: Policy) -> PreviewedAnswer:
    """The answer under this policy. Blocks; may read further pages of an upstream's list."""
    own = Snapshots(TransientSnapshots(), snapshots.sealer)
    try:
        envelope = _envelope(source, policy, own)
    except CallError as error:
        text = error.body.decode()
        return PreviewedAnswer(
            lines_of(text), claude.count(text), formula(text), 0, "error", 0, 0, (error.message,), is_refused=True
        )
    text = envelope.body.decode()
    return PreviewedAnswer(
        lines=lines_of(text),
        claude_tokens=envelope.claude_tokens,
        formula_tokens=envelope.estimated_tokens,
        original_tokens=envelope.original_tokens,
        outcome=envelope.outcome,
        items=envelope.items,
        total_rows=envelope.total_rows,
        left_out=tuple(_left_out(envelope)),
        is_refused=envelope.failure is not None,
        is_shortened=envelope.oversized or envelope.summarized or envelope.chunked,
    )


def _envelope(source: PreviewSource, policy: Policy, own: Snapshots) -> Envelope:
    """Raises CallError."""
    payload = source.payload
    if isinstance(payload, NativeResult):
        return payload.answer(
            source.request, policy, partial(_protected, request=source.request, policy=policy, own=own)
        )
    if isinstance(payload, PagedRows):  # its pages may have been read under another policy
        payload = redacted(PagedRows(payload.source, payload.shape, payload.options), _visibility(policy))
        async_to_sync(cast(PagedRows, payload).gather)(source.request, policy, partial(on_thread, LIMIT_KEY), own)
    return _protected(payload, request=source.request, policy=policy, own=own)


def _protected(payload: Payload, *, request: AnswerRequest, policy: Policy, own: Snapshots) -> Envelope:
    return protect(redacted(payload, _visibility(policy)), request, policy, own)


def _visibility(policy: Policy) -> Visibility:
    """Nothing is revealed, whatever the key may see: the answer is read by staff."""
    return Visibility(withheld=policy.withheld)


def _left_out(envelope: Envelope) -> list[str]:
    """107 of 114 fields · 44 of 200 rows · withheld: doorCode"""
    parts = []
    meta = _meta(envelope.body)
    shown, every = meta.get("projectedFields"), meta.get("totalFields")
    if isinstance(shown, list) and isinstance(every, int) and every > len(shown):
        parts.append(f"{every - len(shown):,} of {every:,} fields")
    if envelope.total_rows > envelope.items:
        parts.append(f"{envelope.total_rows - envelope.items:,} of {envelope.total_rows:,} rows")
    chunks = meta.get("totalChunks")
    if envelope.chunked and isinstance(chunks, int) and chunks > 1:
        parts.append(f"{chunks - 1:,} of {chunks:,} chunks")
    if named := masks.paths(envelope.withheld):
        parts.append(f"withheld: {', '.join(named[: masks.NAMED_PATHS])}")
    return parts


def _meta(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:  # a text of another server
        return {}
    meta = document.get("meta") if isinstance(document, dict) else None
    return meta if isinstance(meta, dict) else {}


def lines_of(text: str) -> tuple[str, ...]:
    """Splits a compact JSON document into lines: one for each of its members, and one for each element of a list in it.
    Other texts keep their own lines."""
    try:
        document = json.loads(text)
    except ValueError:
        return tuple(text[:SHOWN].splitlines())
    return within(_members(document) if isinstance(document, dict) else [_compact(document)])


def within(lines: Iterable[str]) -> tuple[str, ...]:
    """As many of the lines as fit into SHOWN characters."""
    shown, room = [], SHOWN
    for line in lines:
        if room <= 0:
            break
        shown.append(line[:room])
        room -= len(line)
    return tuple(shown)


def _members(document: Mapping[str, Any]) -> list[str]:
    lines = []
    for place, (name, value) in enumerate(document.items()):
        opening, end = "{" if place == 0 else "", "," if place < len(document) - 1 else "}"
        if isinstance(value, list) and len(value) > 1:
            lines.append(f"{opening}{_compact(name)}:[")
            lines += [f"{_compact(each)}," for each in value[:-1]]
            lines.append(f"{_compact(value[-1])}]{end}")
        else:
            lines.append(f"{opening}{_compact(name)}:{_compact(value)}{end}")
    return lines or ["{}"]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of one side. `is_own`: the other side does not have it."""

    text: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same data under the policy in force and under a new one."""

    basis: str
    before: PreviewedAnswer
    after: PreviewedAnswer

    @property
    def before_lines(self) -> list[ShownLine]:
        return _marked(self.before, self.after)

    @property
    def after_lines(self) -> list[ShownLine]:
        return _marked(self.after, self.before)


def _marked(side: PreviewedAnswer, other: PreviewedAnswer) -> list[ShownLine]:
    known = set(other.lines)
    return [ShownLine(line, line not in known) for line in side.lines]


def compared(source: PreviewSource, now: Policy, new: Policy) -> Comparison:
    """Blocks."""
    before = previewed(source, now)
    after = before if now == new else previewed(source, new)
    return Comparison(source.basis, before, after)
