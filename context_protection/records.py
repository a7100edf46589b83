"""A record's answer: whole while it fits its budget, else a preview with a way to every part of it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from context_protection import asked, parts, summaries, tokens
from context_protection.budget import Body, dumps, length, render
from context_protection.cursors import Walk, Walks
from context_protection.errors import InvalidArgument, invalid_cursor
from context_protection.payloads import Ask, Envelope, Outcome, Record
from context_protection.policy import Policy
from context_protection.shapes import NOTHING, withheld_note

MOST_SECTIONS = 40  # that a preview names
FIRST_ROOM = 3  # characters a token may stand for in a part's first try; less where the text is denser


def answer(record: Record, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Raises InvalidArgument (fields), InvalidCursor."""
    value, withheld = record.shape.without_withheld(record.value)
    original = tokens.formula_of_length(length(dumps(record.value)))
    note = withheld_note(withheld)
    names = asked.split(ask.fields) if ask.fields is not None else []
    if names and asked.ALL not in names:
        return _selection(_Source(value, record, withheld), names, ask, policy, walks, original)
    whole = _whole(value, {"kind": "full", **note}, policy)
    if whole.fits(policy) and (names or not policy.summarization or whole.within_threshold(policy)):
        return _envelope(whole, original)
    if names or not policy.summarization:
        return _first_part(value, note, ask, policy, walks, original)
    return _envelope(_preview(value, record, note, ask, policy, original), original, summarized=True)


@dataclass(frozen=True, slots=True)
class _Source:
    value: dict[str, Any]
    record: Record
    withheld: list[str]


def _selection(source: _Source, names: list[str], ask: Ask, policy: Policy, walks: Walks, original: int) -> Envelope:
    """The asked fields; those among them that privacy withholds are named instead."""
    shape = source.record.shape
    kept = [name for name in names if name not in source.withheld]
    asked.check(kept, [source.value], shape)
    named = shape.asked_of(source.withheld, names)
    note = withheld_note(named)
    chosen = asked.selected(source.value, kept, shape) if kept else {}
    whole = _whole(chosen, {"kind": "full", **note}, policy)
    return _envelope(whole, original) if whole.fits(policy) else _first_part(chosen, note, ask, policy, walks, original)


def _whole(value: Mapping[str, Any], meta: dict[str, Any], policy: Policy, **extra: Any) -> Body:
    """The object's own fields and, last, our `meta`, which gives way to a `meta` of its own."""
    key = "meta"
    while key in value:
        key = f"_{key}"
    return render({**value, **extra, key: meta}, policy, meta_key=key)


def _envelope(
    body: Body, original: int, *, summarized: bool = False, paginated: bool = False, oversized: bool = False
) -> Envelope:
    return Envelope(
        body=body.data,
        outcome=Outcome.PAGINATED if paginated else Outcome.SUMMARIZED if summarized else Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=original,
        paginated=paginated,
        summarized=summarized,
        oversized=summarized or oversized,
    )


# -- Preview ----------------------------------------------------------------------------------------


def _preview(
    value: dict[str, Any], record: Record, note: dict[str, Any], ask: Ask, policy: Policy, original: int
) -> Body:
    """Identifying fields, and every section with its size: together the sections are the whole record."""
    summary = summaries.preview(value, record.shape)
    sections = {
        name: {"fields": [field for field in fields if value[field] not in NOTHING], "estimatedTokens": size}
        for name, fields in record.shape.in_sections(value).items()
        for size in [tokens.formula_of_length(length(dumps({field: value[field] for field in fields})))]
    }
    meta = {
        "kind": "preview",
        "totalFields": len(value),
        "projectedFields": list(summary),
        "originalTokens": original,
        **note,
        "detailsAvailable": {**ask.again(fields=asked.ALL), "sections": sections},
    }
    body = render({"summary": summary, "meta": meta}, policy)
    if body.fits(policy) and body.within_threshold(policy):
        return body
    # So many fields that their names alone are too much: the sections' names and sizes stay, unless these are too
    # many as well. Some of them would look like all of them.
    meta["detailsAvailable"]["sections"] = {
        name: {"estimatedTokens": section["estimatedTokens"]}
        for name, section in sections.items()
        if len(sections) <= MOST_SECTIONS
    }
    body = render({"summary": summary, "meta": meta}, policy)
    return body if body.fits(policy) else _smallest(value, meta, ask, policy)


def _smallest(value: dict[str, Any], meta: dict[str, Any], ask: Ask, policy: Policy) -> Body:
    """What is left when even names are too long: what to call, which gives everything in parts."""
    kept = {name: meta[name] for name in ("kind", "totalFields", "originalTokens")}
    return render(
        {"summary": {}, "meta": {**kept, "projectedFields": [], "detailsAvailable": ask.again(fields="all")}},
        policy,
    )


# -- Parts ------------------------------------------------------------------------------------------


def _first_part(
    value: dict[str, Any], note: dict[str, Any], ask: Ask, policy: Policy, walks: Walks, original: int
) -> Envelope:
    """Begins a walk over the value's parts; its snapshot keeps them parts of one thing."""
    plan = {"parts": True, "note": note, "fields": ask.fields or asked.ALL, "original": original}
    walk = walks.begin(ask.operation, ask.caller, ask.arguments, plan, [zlib.compress(dumps(value), 1)])
    return _part(value, [], walk, policy, walks)


def next_part(walk: Walk, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """The part that a cursor points at. Raises InvalidCursor for other `fields` than the walk's."""
    if ask.fields not in (None, walk.plan["fields"]):
        message = "The cursor was issued for other fields; fields cannot change in a walk."
        raise invalid_cursor("cursor_mismatch", "", message)
    value = orjson.loads(zlib.decompress(walks.block(walk, 0)))
    return _part(value, ask.position, walk, policy, walks)


def _part(value: dict[str, Any], position: parts.Position, walk: Walk, policy: Policy, walks: Walks) -> Envelope:
    """The largest part from `position` on that the hard cap holds."""
    room = policy.hard_cap * FIRST_ROOM
    while True:
        part = parts.take(value, position, room)
        body = _part_body(value, part, position, walk, policy, walks)
        if body.fits(policy):
            return _envelope(body, walk.plan["original"], paginated=True, oversized=not position)
        if room <= parts.SMALLEST_ROOM:
            raise _unsendable(policy)
        room = max(parts.SMALLEST_ROOM, int(room * min(0.9, 0.95 / body.fill(policy))))


def _part_body(
    value: dict[str, Any], part: parts.Part, position: parts.Position, walk: Walk, policy: Policy, walks: Walks
) -> Body:
    meta: dict[str, Any] = {"kind": "part", **(walk.plan["note"] if not position else {})}
    if (continued := parts.continues(value, position)) is not None:
        meta["continues"] = continued
    cursor = walks.cursor(walk, part.following) if part.following is not None else None
    extra: dict[str, Any] = {}
    if "nextCursor" in value:
        meta["nextCursor"] = cursor  # the record has a field of that name: ours stands apart, null at the end
    elif cursor is not None:
        extra["nextCursor"] = cursor
    return _whole(part.value, meta, policy, **extra)


def _unsendable(policy: Policy) -> InvalidArgument:
    """The names of fields cannot be divided: where they alone are over the cap, there is no valid answer."""
    return InvalidArgument(
        "The names of this record's fields are longer than an answer may be.",
        reason="names_too_long",
        parameter="fields",
        expected=f"names that fit into {policy.hard_cap:,} tokens together with the path to them",
        suggestion="Ask for other fields by name, or for a higher hardCap.",
    )
