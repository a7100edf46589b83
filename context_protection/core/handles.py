"""Answers with a handle instead of data: what `format=handle` gives for a list, a record or a text.

The answer has the size of the complete result, and its columns, so that a caller can write SQL without reading a row.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_protection.core import records, short_texts, text_traits, tokens
from context_protection.core.budget import Body, render
from context_protection.core.cursors import NewSnapshot, Snapshot, Snapshots
from context_protection.core.errors import InvalidArgument, store_unavailable
from context_protection.core.inference import proposals
from context_protection.core.list_positions import ListPosition
from context_protection.core.masks import is_withheld
from context_protection.core.payloads import AnswerRequest, Envelope, Opening, Outcome, Payload, Record, Rows, Text
from context_protection.core.policy import Policy
from context_protection.core.query import query
from context_protection.core.redaction import STANDARD
from context_protection.core.results import result_tables, text_lines
from context_protection.core.results.tabulation import Column, Tabulated, tabulate
from context_protection.core.withheld_fields import MASK

HANDLE = "handle"
MAX_TOKENS = 220  # Claude tokens of an answer
MAX_COLUMNS = 24
SAMPLED = 20  # rows that show the types of undeclared columns, and examples
EXAMPLE_CHARS = 16
MINUTES = len("2026-11-20 12:00")
STORE_WAIT = 5.0  # seconds
_TYPES = {"VARCHAR": "text", "DATE": "date", "TIMESTAMP": "timestamp", "BOOLEAN": "boolean", "JSON": "json"}


@dataclass(frozen=True, slots=True)
class _Described:
    """A stored result: its snapshot, its number of rows (None: unknown), some of them, its columns, the names that
    come first, its note for `meta`, and the tokens of an answer with data."""

    snapshot: Snapshot
    total: int | None
    sample: Sequence[Mapping[str, Any]]
    columns: Sequence[Column]
    preferred: Sequence[str]
    original_tokens: int
    note: Mapping[str, Any] = field(default_factory=dict)


def answer(payload: Payload | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """The handle of the payload; of the part that a cursor's snapshot stores if it is None. Raises InvalidArgument
    (format, where, aggregate), StoreUnavailable."""
    if request.result_operation is None:
        raise _not_offered()
    described = _described(payload, request, policy, snapshots)
    if not described.snapshot.is_stored:
        raise store_unavailable(STORE_WAIT)
    body = _body(described, policy, request.operation)
    return Envelope(
        body=body.data,
        outcome=Outcome.SUMMARIZED,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=described.original_tokens,
        summarized=True,
    )


def _not_offered() -> InvalidArgument:
    return InvalidArgument(
        "format=handle needs the tools that read results, which are not offered here.",
        reason="invalid_format",
        parameter="format",
        value=HANDLE,
        expected="items or table",
        suggestion="Leave format out.",
    )


# -- What is stored ---------------------------------------------------------------------------------


def _described(payload: Payload | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _Described:
    if isinstance(payload, Rows):
        return _list(payload, request, policy, snapshots)
    if payload is None:
        assert request.snapshot is not None
        return _record(Record(records.stored_value(request.snapshot, snapshots)), request, policy, snapshots)
    if isinstance(payload, Record):
        return _record(payload, request, policy, snapshots)
    if payload.facts is not None:
        return _record(Record(dict(payload.facts)), request, policy, snapshots)
    return _text(payload, request, policy, snapshots)


def _list(rows: Rows, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _Described:
    if request.snapshot is None:
        rows = query.run(rows, request.arguments, request.search)
        opening = rows.open()
        page = rows.page(opening.plan, None, None, policy.default_page_size)
        form = {"fields": None, "format": None, "limit": None}
        plan = {"total": opening.total, "source": opening.plan, "form": form}
        snapshot = snapshots.begin(NewSnapshot(request.origin, plan, opening.blocks()))
    else:
        snapshot, rows = request.snapshot, query.resume(rows, request.arguments)
        opening = Opening(snapshot.plan["total"], snapshot.plan["source"])
        position = ListPosition.of(request).place
        page = rows.page(
            opening.plan, lambda numbers: snapshots.blocks(snapshot, numbers), position, policy.default_page_size
        )
    sample = [rows.shape.as_row(row)[0] for row in page.whole(min(SAMPLED, len(page.chars)))]
    preferred = [each.source for each in proposals.with_rows(rows.shape, sample).row]
    columns = result_tables.of_rows(rows, opening.plan)
    original = tokens.formula_of_length(sum(page.chars) + len(page.chars))
    return _Described(snapshot, opening.total, sample, columns, preferred, original, opening.note)


def _record(record: Record, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _Described:
    snapshot = records.begin_snapshot(record, request, policy, snapshots)
    preferred = [each.source for each in proposals.with_rows(record.shape, [record.value]).row]
    columns = result_tables.of_record(record.shape)
    original = snapshot.plan["original"]
    return _Described(snapshot, 1, [record.value], columns, preferred, original, record.note)


def _text(text: Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _Described:
    traits = text_traits.traits_of(text, policy)
    snapshot = short_texts.whole_snapshot(text, traits, request, snapshots)
    head = text_lines.rows(text.pieces(text.version), traits.form)
    sample = [row for row, _ in zip(head, range(SAMPLED), strict=False)]
    columns = text_lines.columns(traits.form)
    names = [each.name for each in columns]
    return _Described(snapshot, text.lines, sample, columns, names, tokens.formula_of_length(text.chars))


# -- The answer -------------------------------------------------------------------------------------


def _body(described: _Described, policy: Policy, operation: str) -> Body:
    """The answer with as many columns as fit MAX_TOKENS."""
    masked = {name for row in described.sample for name, value in row.items() if value == MASK}
    columns = [each for each in described.columns if masked.isdisjoint((each.name, each.path))]
    table = [each for each in tabulate(described.sample, columns) if not _is_withheld(each.name, masked)]
    table = _first(table, described)
    shown = min(len(table), MAX_COLUMNS)
    while True:
        body = _with_columns(table[:shown], len(table) - shown, described, policy, operation)
        if shown == 0 or tokens.claude.count(body.data.decode()) <= MAX_TOKENS:
            return body
        shown -= 1


def _is_withheld(name: str, masked: Container[str]) -> bool:
    return name in masked or is_withheld(name, STANDARD)


def _first(table: Sequence[Tabulated], described: _Described) -> list[Tabulated]:
    """The canonical columns, then those that a condensed row would have, then the others."""
    canonical = {each.name: number for number, each in enumerate(described.columns)}
    preferred = {name: len(canonical) + number for number, name in enumerate(described.preferred)}
    return sorted(table, key=lambda each: {**preferred, **canonical}.get(each.name, len(canonical) + len(preferred)))


def _with_columns(
    table: Sequence[Tabulated], others: int, described: _Described, policy: Policy, operation: str
) -> Body:
    meta = {
        "kind": HANDLE,
        "resultHandle": described.snapshot.id,
        **({} if described.total is None else {"totalCount": described.total}),
        **described.note,
    }
    columns = {each.name: _example(each) for each in table}
    document = {"meta": meta, "columns": columns, **({"otherColumns": others} if others else {})}
    return render(document, policy, operation)


def _example(column: Tabulated) -> str:
    """The column's type and a value: "date 2026-11-20"."""
    kind = _TYPES.get(column.type, "number")
    value = next((each for each in column.values if each not in (None, "")), None)
    if value is None or kind == "json":
        return kind
    text = str(value)[:MINUTES] if kind == "timestamp" else str(value)
    return f"{kind} {text if len(text) <= EXAMPLE_CHARS else f'{text[: EXAMPLE_CHARS - 1]}…'}"
