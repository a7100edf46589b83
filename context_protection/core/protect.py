"""`protect` turns a payload into an envelope, for every transport.

Its only I/O is the snapshot store and, for lists and long texts, the reads of the rows or characters that are sent.
"""

from context_protection.core import handles, lists, records, text_search, texts
from context_protection.core.cursors import Snapshot, Snapshots
from context_protection.core.errors import invalid_cursor
from context_protection.core.memory_text import stored_text
from context_protection.core.payloads import AnswerRequest, Envelope, Payload, Record, Rows
from context_protection.core.policy import Policy
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import Shape


def protect(payload: Payload | None, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """The envelope of `payload`: never over the policy's hard cap, always complete JSON, without loss.

    `payload` is None if the snapshot stores all that is needed (`needs_no_fetch`).
    Raises CallError for invalid arguments (limit, fields, format, cursor, search, lines).
    """
    if text_search.is_searched(payload, request):
        payload, request = text_search.lines(payload, request, policy, snapshots)
    if request.format == handles.HANDLE:
        return handles.answer(payload, request, policy, snapshots)
    if payload is None:
        assert request.snapshot is not None
        return records.next_part(request.snapshot, request, policy, snapshots)
    if isinstance(payload, Record):
        if request.snapshot is not None:  # a snapshot of a record has its parts, so that no payload is fetched
            message = "The cursor continues a list, but the operation returns a record by now."
            raise invalid_cursor("cursor_mismatch", "", message)
        return records.answer(payload, request, policy, snapshots)
    if isinstance(payload, Rows):
        return lists.answer(payload, request, policy, snapshots)
    return texts.answer(payload, request, policy, snapshots)


def needs_no_fetch(snapshot: Snapshot | None) -> bool:
    """Whether the snapshot stores a record that is sent in parts."""
    return snapshot is not None and bool(snapshot.plan.get("parts"))


def stored_payload(snapshot: Snapshot | None, shape: Shape, snapshots: Snapshots) -> Payload | None:
    """The payload if the snapshot stores all of it, else None. Raises InvalidCursor if a stored block is gone."""
    if snapshot is None:
        return None
    if "rows" in snapshot.plan.get("source", {}):
        return MemoryRows((), shape)
    return stored_text(snapshot, snapshots)
