"""Runs a tool once for the playground: what the API sent, and the answer that a client gets."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.errors import CallError
from context_protection.core.page_sizes import UNPAGED_ROWS
from context_protection.core.payloads import Payload, Record, Rows
from context_protection.core.tokens import claude, formula
from context_protection.layers.budgets import Budgets
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch import configuration, hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from gateway.staff.playground.follow_ups import FollowUp, follow_ups
from gateway.staff.preview.answers import lines_of, within
from gateway.upstreams.usage import UpstreamUse
from telemetry import wording

LONGEST_TEXT = 2_000_000  # the most characters of a text that are read to count its tokens


@dataclass(frozen=True, slots=True)
class PlaygroundSide:
    """One side of the comparison. `size`: bytes. `note`: which part is counted or shown, if not all."""

    lines: Sequence[str]
    claude_tokens: int
    formula_tokens: int
    size: int
    note: str = ""

    @property
    def in_words(self) -> str:
        return wording.plural(self.claude_tokens, "token")

    @property
    def more_words(self) -> str:
        return f"formula {wording.whole(self.formula_tokens)} · {wording.size(self.size)}"


@dataclass(frozen=True, slots=True)
class PlaygroundRun:
    """`raw`: None if the call failed before there was data. `upstream`: "" if none was called. `milliseconds`: of the
    whole call, including the upstream."""

    raw: PlaygroundSide | None
    answer: PlaygroundSide
    is_failed: bool
    outcome: str
    milliseconds: float
    upstream: str
    upstream_milliseconds: float
    request_id: str
    follow_ups: Sequence[FollowUp]

    @property
    def saved(self) -> str:
        """The share of the tokens that was saved, such as "99.5% saved"; "" if none was."""
        if self.raw is None or self.raw.claude_tokens <= self.answer.claude_tokens:
            return ""
        return f"{wording.share(1 - self.answer.claude_tokens / self.raw.claude_tokens)} saved"

    @property
    def took(self) -> str:
        """212 ms: 203 ms upstream acme + 9.0 ms Sluice"""
        whole = wording.milliseconds(self.milliseconds)
        if not self.upstream:
            return f"{whole}, all of it Sluice's own: no upstream was called"
        own = max(0.0, self.milliseconds - self.upstream_milliseconds)
        theirs = wording.milliseconds(self.upstream_milliseconds)
        return f"{whole}: {theirs} upstream {self.upstream} + {wording.milliseconds(own)} Sluice"


def run(tool: str, arguments: Mapping[str, Any], caller: Caller, budgets: Budgets | None = None) -> PlaygroundRun:
    """`budgets`: used instead of those in force. An error counts as an answer. Blocks."""
    seen: list[Payload] = []
    # A `partial` equals the hints of no other call, so the answer does not come from the response cache.
    call = Call(tool, dict(arguments), caller, Transport.PLAYGROUND, partial(hints.mcp), witness=seen.append)
    under = configuration.current()
    if budgets is not None:
        under = replace(under, budgets=budgets, is_current=False)
    use, began = UpstreamUse(), time.perf_counter()
    try:
        envelope = serve_blocking(call, under, use)
        body, outcome, tokens = envelope.body.decode(), envelope.outcome, envelope.claude_tokens
        is_failed = envelope.failure is not None
    except CallError as error:
        body, outcome, is_failed = error.body.decode(), "error", True
        tokens = claude.count(body)
    took = (time.perf_counter() - began) * 1000
    answer = PlaygroundSide(lines_of(body), tokens, formula(body), len(body.encode()))
    raw = _raw(seen[0]) if seen else None
    return PlaygroundRun(
        raw, answer, is_failed, outcome, took, use.name, use.milliseconds, call.id, follow_ups(tool, body)
    )


def _raw(payload: Payload) -> PlaygroundSide:
    """The data as the API sent it, with its secrets masked."""
    if isinstance(payload, Record):
        return _side(dumps(payload.value).decode())
    if isinstance(payload, Rows):
        return _rows(payload)
    text = payload.read(payload.version, 0, min(payload.chars, LONGEST_TEXT)) or ""
    counted = f"the first {wording.whole(LONGEST_TEXT)} characters" if payload.chars > LONGEST_TEXT else ""
    return _side(text, counted)


def _rows(payload: Rows) -> PlaygroundSide:
    opening = payload.open()
    page = payload.page(opening.plan, None, None, UNPAGED_ROWS)
    rows = page.whole(len(page.positions))
    more = f" of {wording.whole(opening.total)}" if opening.total and opening.total > len(rows) else ""
    lines = within(dumps(row).decode() for row in rows)
    return _side(dumps(rows).decode(), f"{wording.plural(len(rows), 'row')}{more}", lines)


def _side(text: str, note: str = "", lines: Sequence[str] | None = None) -> PlaygroundSide:
    shown = lines_of(text) if lines is None else lines
    return PlaygroundSide(shown, claude.estimate(text), formula(text), len(text.encode()), note)
