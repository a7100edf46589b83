"""Answers a text: whole while it is short, else in chunks at its own boundaries (FR-020 to FR-023).

A text of up to `LONG_TEXT_CHARS` is planned within the call, and its snapshot stores the chunk plan. The plan of a
longer text is made in the background and stored once for all callers; the snapshot refers to it. In both cases
any process can read a chunk without the others, and the number of chunks stays the same to the end.
"""

from typing import Any

from context_protection.core import long_texts, records, short_texts
from context_protection.core.cursors import Snapshot, Snapshots
from context_protection.core.errors import InvalidArgument, invalid_cursor
from context_protection.core.long_texts import LONG_TEXT_CHARS
from context_protection.core.payloads import AnswerRequest, Envelope, Record, Text
from context_protection.core.policy import Policy
from context_protection.core.splitting import lines
from context_protection.core.splitting.lines import LineRange, RangeError
from context_protection.core.splitting.plans import (
    TextGone,
)


def answer(text: Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """Raises InvalidArgument (startLine, endLine), InvalidCursor, Indexing."""
    try:
        if request.snapshot is not None:
            return _next_chunk(text, request, request.snapshot, policy, snapshots)
        return _first_answer(text, request, policy, snapshots)
    except TextGone:
        raise invalid_cursor("cursor_expired", "", "The text of the cursor is no longer stored.") from None


def _first_answer(text: Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    if text.facts is not None:
        return records.answer(Record(dict(text.facts)), request, policy, snapshots)
    first, last = requested_lines(text, request)
    requested = LineRange(first, last) if (first, last) != (1, None) else None
    if text.chars > LONG_TEXT_CHARS:
        return long_texts.first_answer(text, requested, request, policy, snapshots)
    return short_texts.first_answer(text, requested, request, policy, snapshots)


def requested_lines(text: Text, request: AnswerRequest) -> tuple[int, int | None]:
    """The first and the last requested line; None for the last one of the text. Raises InvalidArgument."""
    first, last = request.arguments.get("startLine") or 1, request.arguments.get("endLine")
    try:
        lines.check_range(first, last, text.lines)
    except RangeError as error:
        raise _invalid_range(error) from None
    return first, last


def _next_chunk(
    text: Text, request: AnswerRequest, snapshot: Snapshot, policy: Policy, snapshots: Snapshots
) -> Envelope:
    if "kept" in snapshot.plan:
        return long_texts.next_chunk(text, request, snapshot, policy, snapshots)
    return short_texts.next_chunk(text, request, snapshot, policy, snapshots)


def _invalid_range(error: RangeError) -> InvalidArgument:
    return InvalidArgument(
        f"{error.parameter} is {error.value}, which is outside the text or its own range.",
        reason="invalid_range",
        parameter=error.parameter,
        value=error.value,
        expected=error.expected,
        suggestion="Leave startLine and endLine out to read from the start.",
    )


def plan_of_version(version: str) -> dict[str, Any]:
    """The plan of a snapshot that only says which version of a text it covers."""
    return {"run": [version]}


def version_of(snapshot: Snapshot) -> str:
    """The version of the text that the snapshot covers."""
    version: str = (snapshot.plan.get("run") or snapshot.plan["kept"])[0]
    return version
