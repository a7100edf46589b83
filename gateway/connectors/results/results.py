"""Opens a result handle: the complete rows, record or text behind a response."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

from context_protection.core import canonical, list_queries, masks, texts
from context_protection.core.budget import dumps
from context_protection.core.cursors import Snapshot, invalid_handle
from context_protection.core.errors import InvalidCursor, InvalidHandle, OverBudget
from context_protection.core.masks import paths_in_body
from context_protection.core.payloads import Payload, Record, Rows, SnapshotRows, Text
from context_protection.core.policy import Kind
from context_protection.core.protect import needs_no_fetch, stored_payload
from context_protection.core.records import stored_value
from context_protection.core.results import result_tables
from context_protection.core.results.tabulation import Column
from context_protection.core.shapes import ANY, Shape
from context_protection.core.stored_files import is_file
from context_protection.core.upstream_pages import PagedRows, stored_pages
from context_protection.core.withheld_fields import shape_as_seen
from context_protection.stores.snapshots import snapshots
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Fetch, FetchAsync, Fetched
from gateway.dispatch.redaction import redacted
from gateway.threads.bridge import wait_for

MAX_ROWS = 50_000
MAX_BYTES = 64 * 2**20


@dataclass(frozen=True)
class StoredRows:
    """A list's rows, in upstream's form. Fields hidden in lists are removed; `note` names all redacted fields."""

    rows: Sequence[dict[str, Any]]
    shape: Shape
    columns: Sequence[Column]
    note: Mapping[str, Any]

    @property
    def named(self) -> list[dict[str, Any]]:
        """The rows with canonical names and values."""
        return [canonical.renamed(row, self.shape) for row in self.rows]


@dataclass(frozen=True)
class StoredValue:
    """One redacted record, in upstream's form; `note` names the redacted fields."""

    value: dict[str, Any]
    note: Mapping[str, Any]
    shape: Shape = ANY

    @property
    def named(self) -> dict[str, Any]:
        """The record with canonical names and values."""
        return canonical.renamed(self.value, self.shape)


@dataclass(frozen=True)
class StoredText:
    """A text, in the version that the handle was issued for."""

    text: Text
    handle: str


Stored = StoredRows | StoredValue | StoredText


def opened(handle: str, caller: Caller, last_row: int | None = None) -> Stored:
    """The stored data behind a handle. A list has at least the rows up to `last_row` (None: all). Raises InvalidHandle,
    and OverBudget if a list is too large to read in full."""
    snapshot = snapshot_of(handle, caller)
    if needs_no_fetch(snapshot):
        operation = catalogue.find(snapshot.operation)
        shape = shape_as_seen(operation.shape if operation else ANY, caller.visibility(snapshot.operation))
        return StoredValue(stored_value(snapshot, snapshots), snapshot.plan["note"], shape)
    payload = _payload(snapshot, caller, last_row)
    if isinstance(payload, Rows):
        return _stored_rows(list_queries.resume(payload, snapshot.arguments), snapshot, last_row)
    assert not isinstance(payload, Record), "a record's snapshot stores the record"
    text = payload.at(texts.version_of(snapshot))
    if text is None:
        raise invalid_handle(handle, snapshot.origin)
    return StoredText(text, handle)


def _payload(snapshot: Snapshot, caller: Caller, last_row: int | None) -> Payload:
    """The payload behind the snapshot. Upstream is called only for pages of a list that have not been fetched yet."""
    operation = catalogue.get(snapshot.operation)
    # Of a text, the lines that a search found are stored.
    may_be_stored = operation.is_async or operation.kind is Kind.TEXT
    if may_be_stored and (stored := stored_payload(snapshot, operation.shape, snapshots)) is not None:
        return stored
    visibility = caller.visibility(operation.name)
    if not operation.is_async:
        payload = cast(Fetch, operation.fetch)(snapshot.arguments, caller)
        return redacted(payload, visibility) if visibility.withheld else payload
    known = stored_pages(snapshot, snapshots)
    if last_row is not None and last_row < sum(len(page.rows) for page in known):
        return PagedRows.of_stored(known, operation.shape)

    async def load_remaining() -> Payload:
        fetched = await cast(FetchAsync, operation.fetch)(snapshot.arguments, caller)
        pages = fetched.payload if isinstance(fetched, Fetched) else fetched
        if not isinstance(pages, PagedRows):  # the operation has changed since the handle was issued
            raise invalid_handle(snapshot.id, snapshot.origin)
        rest = cast(PagedRows, redacted(pages, visibility))
        await rest.gather_rest(known)
        return rest

    return wait_for(load_remaining)


def snapshot_of(handle: str, caller: Caller) -> Snapshot:
    """The snapshot that the handle names. Raises InvalidHandle if there is none, if it is that of a file, or if its
    operation is hidden from the caller."""
    try:
        snapshot = snapshots.opened(handle, caller.owner)
    except InvalidHandle:
        if (named := _of_a_row(handle, caller)) is None:
            raise
        snapshot = named
    if snapshot.operation in caller.tools.hidden or is_file(snapshot):
        raise invalid_handle(handle, None)
    return snapshot


def _of_a_row(handle: str, caller: Caller) -> Snapshot | None:
    """The snapshot of a text whose handle was in the row of a list. It is rebuilt, as only the text is stored."""
    for operation in catalogue:
        if operation.named_text and (text := operation.named_text(handle)):
            plan = texts.plan_of_version(text.version)
            return Snapshot(handle, operation.name, caller.owner, text.arguments, plan, time.time(), math.inf)
    return None


def _stored_rows(rows: Rows, snapshot: Snapshot, last_row: int | None) -> StoredRows:
    paths: dict[str, None] = {}
    try:
        every = list(_rows_to(last_row, rows, snapshot, paths))
    except InvalidCursor:  # a stored block is missing
        raise invalid_handle(snapshot.id, snapshot.origin) from None
    columns = result_tables.of_rows(rows, snapshot.plan["source"])
    return StoredRows(every, rows.shape, columns, masks.note(paths))


def _rows_to(last_row: int | None, rows: Rows, snapshot: Snapshot, paths: dict[str, None]) -> Iterator[dict[str, Any]]:
    """The rows up to `last_row` (None: all), ready to send. Adds the paths of their redacted fields to `paths`. Rows
    after them do not count: a row that is too large for its page must be readable in a list of any length."""
    assert isinstance(rows, SnapshotRows), "a list with a result handle can be read in full"
    total, end = snapshot.plan["total"] or 0, None if last_row is None else last_row + 1
    if (total if end is None else min(total, end)) > MAX_ROWS:
        raise _too_long(snapshot)
    size = 0
    every = rows.everything(snapshot.plan["source"], partial(snapshots.blocks, snapshot))
    for row in islice(every, end):
        sent, omitted = rows.shape.as_row(row)
        body = dumps(sent)
        paths.update(dict.fromkeys([*omitted, *paths_in_body(body, sent)]))
        size += len(body)
        if size > MAX_BYTES:
            raise _too_long(snapshot)
        yield sent


def _too_long(snapshot: Snapshot) -> OverBudget:
    return OverBudget(
        f"The result has {snapshot.plan['total']:,} rows, which is too large to be opened.",
        reason="result_too_large",
        parameter="handle",
        value=snapshot.id,
        expected=f"a result of at most {MAX_ROWS:,} rows and {MAX_BYTES // 2**20} MB",
        suggestion=f"Call {snapshot.operation} with where, filters or aggregate, and use the handle of that answer.",
    )
