"""`protect` turns a payload into an envelope, for every transport.

Its only I/O is the snapshot store and, for lists and long texts, the reads of the rows or characters that are sent.
"""

from context_protection.core import lists, records, texts
from context_protection.core.cursors import Walk, Walks
from context_protection.core.memory_text import kept_text
from context_protection.core.payloads import Ask, Envelope, Payload, Record, Rows
from context_protection.core.policy import Policy
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import Shape


def protect(payload: Payload | None, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """The envelope of `payload`: never over the policy's hard cap, always complete JSON, without loss.

    `payload` is None if the snapshot (`Walk`) stores all that is needed (`needs_no_fetch`).
    Raises CallError for invalid arguments (limit, fields, cursor, lines).
    """
    if payload is None:
        assert ask.walk is not None
        return records.next_part(ask.walk, ask, policy, walks)
    if isinstance(payload, Record):
        return records.answer(payload, ask, policy, walks)
    if isinstance(payload, Rows):
        return lists.answer(payload, ask, policy, walks)
    return texts.answer(payload, ask, policy, walks)


def needs_no_fetch(walk: Walk | None) -> bool:
    """Whether the snapshot stores a record that is sent in parts."""
    return walk is not None and bool(walk.plan.get("parts"))


def kept_payload(walk: Walk | None, shape: Shape, walks: Walks) -> Payload | None:
    """The payload, if the snapshot stores all of it, else None. Raises InvalidCursor if it is gone."""
    if walk is None:
        return None
    if "rows" in walk.plan.get("source", {}):
        return MemoryRows((), shape)
    return kept_text(walk, walks)
