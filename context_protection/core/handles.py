"""Answers `format=handle`: a list, record or text is stored, and the answer has its handle instead of its data.

The answer also has the size and the columns of the result, so that a caller can write SQL without reading a row.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from context_protection.core import list_queries, records, short_texts, text_traits, tokens
from context_protection.core.budget import Body, dumps, render
from context_protection.core.cursors import NewSnapshot, Snapshot, Snapshots
from context_protection.core.errors import InvalidArgument, store_unavailable
from context_protection.core.inference import proposals
from context_protection.core.list_positions import ListPosition
from context_protection.core.masks import is_withheld
from context_protection.core.payloads import AnswerRequest, Envelope, Opening, Outcome, Payload, Record, Rows, Text
from context_protection.core.policy import Policy
from context_protection.core.redaction import STANDARD
from context_protection.core.results import result_tables, text_lines
from context_protection.core.results.tabulation import Column, Tabulated, tabulate
from context_protection.core.withheld_fields import MASK

HANDLE, HINT, NOTES = "handle", "detailsAvailable", "notes"
MAX_TOKENS = 220  # of an answer with columns besides its notes, as Claude counts
MAX_COLUMNS = 24
# Counted in place of the handle, because the number of columns must not depend on chance. Few handles have more tokens.
COSTLY_HANDLE = b"7rZ3cC_Z6ZkXY_Gm"
# Counted in place of a hint, with the tokens of the call's arguments, because each transport has its own form of hints
# (law 4).
HINT_TOKENS = 45
SAMPLED = 20  # rows that give the examples, and the types of undeclared columns
EXAMPLE_CHARS = 16
UP_TO_MINUTES = len("2026-11-20 12:00")  # characters of a timestamp in an example
STORE_WAIT = 5.0  # retry_after, in seconds, if the result could not be stored
_TYPES = {"VARCHAR": "text", "DATE": "date", "TIMESTAMP": "timestamp", "BOOLEAN": "boolean", "JSON": "json"}


@dataclass(frozen=True, slots=True)
class _StoredResult:
    """A stored result, and what the answer tells about it. `total`: its number of rows; None: unknown. `sample`: its
    first rows. `preferred`: the names of the columns that a condensed row would have. `original_tokens`: the size of
    the data that a first answer would have. `note`: members of `meta`."""

    snapshot: Snapshot
    total: int | None
    sample: Sequence[Mapping[str, Any]]
    columns: Sequence[Column]
    preferred: Sequence[str]
    original_tokens: int
    note: Mapping[str, Any] = field(default_factory=dict)


def answer(payload: Payload | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """Stores the payload, and returns its handle. If `payload` is None, stores the part of a record that the snapshot
    of the request's cursor has. Raises StoreUnavailable, and InvalidArgument for `format`, `where` or `aggregate`."""
    if request.result_operation is None:
        raise _not_offered()
    result = _stored(payload, request, policy, snapshots)
    if not result.snapshot.is_stored:
        raise store_unavailable(STORE_WAIT)
    body = _body(result, request, policy)
    return Envelope(
        body=body.data,
        outcome=Outcome.SUMMARIZED,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=result.original_tokens,
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


# -- Storing ----------------------------------------------------------------------------------------


def _stored(payload: Payload | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _StoredResult:
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


def _list(rows: Rows, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _StoredResult:
    size = policy.default_page_size
    if request.snapshot is None:
        rows = list_queries.run(rows, request.arguments, request.search)
        opening = rows.open()
        page = rows.page(opening.plan, None, None, size)
        snapshot = _begin(opening, request, snapshots)
    else:
        snapshot, rows = request.snapshot, list_queries.resume(rows, request.arguments)
        opening = Opening(snapshot.plan["total"], snapshot.plan["source"])
        position = ListPosition.of(request).place
        page = rows.page(opening.plan, lambda numbers: snapshots.blocks(snapshot, numbers), position, size)
    sample = [rows.shape.as_row(row)[0] for row in page.whole(SAMPLED)]
    preferred = [each.source for each in proposals.with_rows(rows.shape, sample).row]
    columns = result_tables.of_rows(rows, opening.plan)
    chars = page.chars(len(page.positions))
    original = tokens.formula_of_length(sum(chars) + len(chars))
    return _StoredResult(snapshot, opening.total, sample, columns, preferred, original, opening.note)


def _begin(opening: Opening, request: AnswerRequest, snapshots: Snapshots) -> Snapshot:
    form = {"fields": None, "format": None, "limit": None}
    plan = {"total": opening.total, "source": opening.plan, "form": form}
    return snapshots.begin(NewSnapshot(request.origin, plan, opening.blocks()))


def _record(record: Record, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _StoredResult:
    snapshot = records.begin_snapshot(record, request, policy, snapshots)
    preferred = [each.source for each in proposals.with_rows(record.shape, [record.value]).row]
    columns = result_tables.of_record(record.shape)
    original = snapshot.plan["original"]
    return _StoredResult(snapshot, 1, [record.value], columns, preferred, original, record.note)


def _text(text: Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> _StoredResult:
    traits = text_traits.traits_of(text, policy)
    snapshot = short_texts.whole_snapshot(text, traits, request, snapshots)
    head = text_lines.rows(text.pieces(text.version), traits.form)
    sample = [row for row, _ in zip(head, range(SAMPLED), strict=False)]
    columns = text_lines.columns(traits.form)
    names = [each.name for each in columns]
    return _StoredResult(snapshot, text.lines, sample, columns, names, tokens.formula_of_length(text.chars))


# -- The answer -------------------------------------------------------------------------------------


def _body(result: _StoredResult, request: AnswerRequest, policy: Policy) -> Body:
    """The answer with as many columns as fit MAX_TOKENS."""
    masked = {name for row in result.sample for name, value in row.items() if value == MASK}
    columns = [each for each in result.columns if masked.isdisjoint((each.name, each.path))]
    table = [each for each in tabulate(result.sample, columns) if not _is_withheld(each.name, masked)]
    table = _in_order(table, result)
    shown = min(len(table), MAX_COLUMNS)
    hint_tokens = _hint_tokens(request) if HINT in result.note else 0
    while True:
        body = _with_columns(table[:shown], len(table) - shown, result, policy, request.operation)
        if shown == 0 or (_own_tokens(body, result) + hint_tokens) * tokens.MARGIN <= MAX_TOKENS:
            return body
        shown -= 1


def _own_tokens(body: Body, result: _StoredResult) -> int:
    """The tokens of the body without its notes and its hint, with the costly handle."""
    data = body.data.replace(result.snapshot.id.encode(), COSTLY_HANDLE)
    for name in result.note.keys() & {HINT, NOTES}:
        data = data.replace(dumps(result.note[name]), b"")
    return tokens.claude.count(data.decode())


def _hint_tokens(request: AnswerRequest) -> int:
    """More tokens than most hints have in any form. Some forms quote the arguments as in a URL."""
    return HINT_TOKENS + tokens.claude.count(quote(" ".join(map(str, request.arguments.values()))))


def _is_withheld(name: str, masked: Container[str]) -> bool:
    return name in masked or is_withheld(name, STANDARD)


def _in_order(table: Sequence[Tabulated], result: _StoredResult) -> list[Tabulated]:
    """The canonical columns, then those that a condensed row would have, then the others."""
    canonical = {each.name: number for number, each in enumerate(result.columns)}
    preferred = {name: len(canonical) + number for number, name in enumerate(result.preferred)}
    return sorted(table, key=lambda each: {**preferred, **canonical}.get(each.name, len(canonical) + len(preferred)))


def _with_columns(
    table: Sequence[Tabulated], others: int, result: _StoredResult, policy: Policy, operation: str
) -> Body:
    meta = {
        "kind": HANDLE,
        "resultHandle": result.snapshot.id,
        **({} if result.total is None else {"totalCount": result.total}),
        **result.note,
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
    text = str(value)[:UP_TO_MINUTES] if kind == "timestamp" else str(value)
    return f"{kind} {text if len(text) <= EXAMPLE_CHARS else f'{text[: EXAMPLE_CHARS - 1]}…'}"
