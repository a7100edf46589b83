"""Applies protect() to the response of a view: rows of a list, or any JSON value. Stores the result on the request."""

from typing import Any

from context_protection.core.cursors import Snapshot
from context_protection.core.errors import CallError, invalid_cursor
from context_protection.core.payloads import Envelope, Payload, Record, Rows
from context_protection.core.policy import Kind
from context_protection.core.protect import needs_no_fetch, protect
from context_protection.core.rows import MemoryRows
from context_protection.requests import LIST_FORM, RECORD_FORM, answer_request_of, check_hints, protection_of
from context_protection.stores.snapshots import snapshots


def protect_rows(request: Any, rows: Rows) -> Envelope:
    """A page of a list that is paged by snapshots only; any other cursor is rejected. Raises CallError."""
    return _protected(request, Kind.LIST, rows, any_cursor=True)


def protect_value(request: Any, value: Any, *, any_cursor: bool = False) -> Envelope:
    """Pages a list of objects, and treats an object as a record. Any other value becomes a record with `items` (for a
    list) or `value`. Raises CallError."""
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return _protected(request, Kind.LIST, MemoryRows(value), any_cursor=any_cursor)
    if not isinstance(value, dict):
        value = {"items" if isinstance(value, list) else "value": value}
    return _protected(request, Kind.RECORD, Record(value), any_cursor=any_cursor)


def _protected(request: Any, kind: Kind, payload: Payload, *, any_cursor: bool) -> Envelope:
    protection = protection_of(request)
    protection.kind = kind
    try:
        answer_request = answer_request_of(
            request, LIST_FORM if kind is Kind.LIST else RECORD_FORM, any_cursor=any_cursor
        )
        envelope = protect(_payload_for(answer_request.snapshot, payload), answer_request, protection.policy, snapshots)
        if envelope.summarized:
            check_hints(answer_request)
    except CallError as error:
        protection.error = error
        raise
    protection.envelope = envelope
    return envelope


def _payload_for(snapshot: Snapshot | None, payload: Payload) -> Payload | None:
    """The payload that continues the snapshot. A snapshot that stores its own parts or rows ignores the view's new
    result. Raises InvalidCursor if the snapshot needs database rows and the view returns none."""
    if snapshot is None:
        return payload
    if needs_no_fetch(snapshot):
        return None
    if "rows" in snapshot.plan["source"]:
        return MemoryRows([])
    if isinstance(payload, Record | MemoryRows):
        raise invalid_cursor("cursor_mismatch", "", "The cursor was issued for a list that is no longer here.")
    return payload
