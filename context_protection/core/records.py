"""Answers a record: whole if it fits its budget, else as a preview that says how to get every part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from context_protection.core import field_selection, parts, summaries, tokens, withheld
from context_protection.core.budget import Body, dumps, length, render
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Snapshot, Walk, Walks
from context_protection.core.errors import InvalidArgument, invalid_cursor
from context_protection.core.inference import proposals
from context_protection.core.payloads import Ask, Envelope, Outcome, Record, noting_loss
from context_protection.core.policy import Policy
from context_protection.core.shapes import NOTHING, Shape
from context_protection.core.withheld import NOTHING_WITHHELD, Counts, withheld_in

MOST_SECTIONS = 40  # sections; a preview that is too large names no more than these
SMALLEST_META = frozenset({"kind", "totalFields", "originalTokens", "resultHandle"})
FILL = 0.95  # share of the hard cap that a part's first attempt aims at: parts differ in tokens per character


def answer(record: Record, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Raises InvalidArgument (fields), InvalidCursor."""
    return _Answer(record, ask, policy, walks).envelope()


def kept(value: dict[str, Any], ask: Ask, policy: Policy, walks: Walks) -> Walk:
    """A snapshot (`Walk`) of a record that accompanies this answer. Its id is the record's handle."""
    return _Answer(Record(value, follow_up=True), ask, policy, walks).whole_walk


def next_part(walk: Walk, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """The part that a cursor points at. Raises InvalidCursor if `fields` differ from the snapshot's."""
    if ask.fields not in (None, walk.plan["fields"]):
        message = "The cursor was issued for other fields; fields cannot change in a walk."
        raise invalid_cursor("cursor_mismatch", "", message)
    body = _part(kept_value(walk, walks), walk, ask, policy, walks)
    return _envelope(body, walk.plan["original"], paginated=True, baseline=0)


def kept_value(walk: Walk, walks: Walks) -> dict[str, Any]:
    """The record that the snapshot stores."""
    value: dict[str, Any] = orjson.loads(walks.block(walk, 0))
    return value


class _Answer:
    """The first answer to a call for one record."""

    def __init__(self, record: Record, ask: Ask, policy: Policy, walks: Walks) -> None:
        self.record, self.ask, self.policy, self.walks = record, ask, policy, walks
        self.value = record.value
        self.withheld = withheld_in(self.value)
        self.note = self.noted(self.withheld)

    def noted(self, found: Counts) -> dict[str, Any]:
        """The record's note for `meta`, with the redacted paths of `found` added to those that it already names."""
        note = self.record.note
        return {**note, **withheld.note([*note.get("withheld", ()), *withheld.paths(found)])}

    @cached_property
    def original(self) -> int:
        return tokens.formula_of_length(length(dumps(self.record.value)))

    def envelope(self) -> Envelope:
        names = field_selection.split(self.ask.fields) if self.ask.fields is not None else []
        if names and field_selection.ALL not in names:
            return self.selection(names)
        by_default = not names and self.policy.summarization and not self.ask.cannot_be_detailed
        if self.whole.fits(self.policy) and (not by_default or self.whole.within_threshold(self.policy)):
            is_follow_up = names or self.record.follow_up
            baseline = self.baseline() if is_follow_up else None
            return _envelope(self.whole, self.original, baseline=baseline, found=self.withheld)
        return self.preview() if by_default else self.first_part(self.value, self.note, self.whole)

    @cached_property
    def shape(self) -> Shape:
        """The record's shape; parts that it does not declare are inferred from the record."""
        return proposals.completed(self.record.shape, [self.value])

    @cached_property
    def whole(self) -> Body:
        return _whole(self.value, {"kind": "full", **self.note}, self.policy)

    def selection(self, names: list[str]) -> Envelope:
        """The requested fields. `meta.withheld` names the redacted ones among them."""
        shape = proposals.able_to_answer(self.record.shape, names, [self.value])
        field_selection.check(names, [self.value], shape)
        chosen = field_selection.selected(self.value, names, shape)
        found = withheld_in(chosen)
        note = self.noted(found)
        if advice := withheld.advice(names, found):
            note["notes"] = [*note.get("notes", ()), *advice]
        whole = _whole(chosen, {"kind": "full", **note}, self.policy)
        if whole.fits(self.policy):
            return _envelope(whole, self.original, baseline=self.baseline(), found=found)
        return self.first_part(chosen, note, whole)

    def baseline(self) -> int:
        """The tokens that an unprotected API would have sent: 0 after a preview of the same record, which has counted
        the whole record already."""
        counted = self.record.follow_up or self.walks.has_begun(self.whole_snapshot())
        return 0 if counted else self.original

    # -- Preview ------------------------------------------------------------------------------------

    def preview(self) -> Envelope:
        """Identifying fields, and every section with its size. The sections together are the whole record."""
        summary = summaries.preview(self.value, self.shape, self.policy)
        meta = {
            "kind": "preview",
            "totalFields": len(self.value),
            "projectedFields": list(summary),
            "originalTokens": self.original,
            **self.note,
            **({"resultHandle": self.whole_walk.id} if self.ask.result_operation and self.whole_walk.is_kept else {}),
        }
        sections = self.sections()
        body = self.preview_body(meta, summary, sections)
        if not (body.fits(self.policy) and body.within_threshold(self.policy)):
            # The field names alone are too large, so each section has only its size. If there are too many sections as
            # well, none is named: an incomplete list would look complete.
            sizes = {name: {"estimatedTokens": each["estimatedTokens"]} for name, each in sections.items()}
            body = self.preview_body(meta, summary, sizes if len(sizes) <= MOST_SECTIONS else {})
        body = body if body.fits(self.policy) else self.smallest(meta)
        baseline = 0 if self.record.follow_up else None
        envelope = _envelope(
            body,
            self.original,
            summarized=True,
            baseline=baseline,
            is_complete=self.whole_walk.is_kept,
            found=self.withheld,
        )
        return replace(envelope, missing_fields=tuple(summaries.missing(self.record.value, self.shape, self.policy)))

    @cached_property
    def whole_walk(self) -> Walk:
        """The snapshot of the whole record. Its id is the handle; its existence marks later calls as follow-ups."""
        return self.walks.begin(self.whole_snapshot())

    def preview_body(self, meta: dict[str, Any], summary: dict[str, Any], sections: dict[str, Any]) -> Body:
        meta = {**meta, "detailsAvailable": {**self.more(), "sections": sections}} if self.more() else noting_loss(meta)
        return render({"meta": meta, "summary": summary}, self.policy)

    def more(self) -> dict[str, Any]:
        """The hint for the whole record. Empty if only the snapshot could provide it and could not be stored."""
        if self.ask.once and not self.whole_walk.is_kept:
            return {}
        return self.ask.more(self.whole_walk.id, fields=field_selection.ALL)

    def sections(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "fields": [field for field in fields if self.value[field] not in NOTHING],
                "estimatedTokens": tokens.formula_of_length(
                    length(dumps({field: self.value[field] for field in fields}))
                ),
            }
            for name, fields in self.shape.in_sections(self.value).items()
        }

    def smallest(self, meta: Mapping[str, Any]) -> Body:
        """The smallest preview, for names that are too long: only the hint that returns everything in parts."""
        smallest = {name: meta[name] for name in meta if name in SMALLEST_META}
        more = {"projectedFields": [], "detailsAvailable": self.more()} if self.more() else noting_loss({})
        return render({"meta": {**smallest, **more}, "summary": {}}, self.policy)

    # -- Parts --------------------------------------------------------------------------------------

    def first_part(self, value: dict[str, Any], note: dict[str, Any], whole: Body) -> Envelope:
        """Begins a snapshot of `value` and answers its first part. All parts come from that same value."""
        baseline = self.baseline()
        walk = self.walks.begin(self.snapshot(value, self.ask.fields or field_selection.ALL, note, whole))
        body = _part(value, walk, self.ask, self.policy, self.walks)
        return _envelope(
            body,
            self.original,
            paginated=True,
            oversized=True,
            baseline=baseline,
            is_complete=walk.is_kept,
            found=self.withheld,
        )

    def whole_snapshot(self) -> Snapshot:
        return self.snapshot(self.value, field_selection.ALL, self.note, self.whole)

    def snapshot(self, value: Any, fields: str, note: Mapping[str, Any], whole: Body) -> Snapshot:
        """The snapshot for the parts of `value`. `whole` is the body that `value` would have in one piece."""
        density = round(whole.fill(self.policy) * self.policy.hard_cap / whole.chars, 3)
        plan = {"parts": True, "note": note, "fields": fields, "original": self.original, "density": density}
        return Snapshot(self.ask.origin, plan, [dumps(value)])


def _whole(value: Mapping[str, Any], meta: dict[str, Any], policy: Policy, **extra: Any) -> Body:
    """Our `meta` and the object's fields. If the object has a `meta` of its own, ours gets one underscore more."""
    own = [name for name in value if name.endswith("meta") and not name[:-4].strip("_")]
    key = "_" * (max(map(len, own)) - 3) + "meta" if own else "meta"
    return render({key: meta, **extra, **value}, policy, meta_key=key)


def _envelope(
    body: Body,
    original: int,
    *,
    summarized: bool = False,
    paginated: bool = False,
    oversized: bool = False,
    baseline: int | None = None,
    is_complete: bool = True,
    found: Counts = NOTHING_WITHHELD,
) -> Envelope:
    return Envelope(
        body=body.data,
        outcome=Outcome.PAGINATED if paginated else Outcome.SUMMARIZED if summarized else Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=original,
        baseline_tokens=baseline,
        paginated=paginated,
        summarized=summarized,
        oversized=summarized or oversized,
        is_complete=is_complete,
        withheld=found,
    )


def _part(value: dict[str, Any], walk: Walk, ask: Ask, policy: Policy, walks: Walks) -> Body:
    """The largest part from the requested position on that fits the hard cap."""
    position = ask.position or []
    room = max(parts.SMALLEST_ROOM, int(policy.hard_cap * FILL / walk.plan["density"]))
    while True:
        part = parts.take(value, position, room)
        body = _part_body(value, part, walk, ask, policy, walks)
        if body.fits(policy):
            return body
        if room <= parts.SMALLEST_ROOM:
            raise _unsendable(policy)
        room = max(parts.SMALLEST_ROOM, int(room * min(0.9, 0.95 / body.fill(policy))))


def _part_body(value: dict[str, Any], part: parts.Part, walk: Walk, ask: Ask, policy: Policy, walks: Walks) -> Body:
    position = ask.position or []
    meta: dict[str, Any] = {"kind": "part"}
    if not position:
        meta |= walk.plan["note"]
        meta |= {"resultHandle": walk.id} if ask.result_operation and walk.is_kept else {}
    if (continued := parts.continues(value, position)) is not None:
        meta["continues"] = continued
    extra: dict[str, Any] = {}
    if part.following is not None and not walk.is_kept:
        return _whole(part.value, noting_loss(meta), policy)
    cursor = walks.cursor(walk, part.following) if part.following is not None else None
    if "nextCursor" in value:
        meta["nextCursor"] = cursor  # the record has a field of that name, so ours goes to `meta`; null at the end
    elif cursor is not None:
        extra["nextCursor"] = cursor
    return _whole(part.value, meta, policy, **extra)


def _unsendable(policy: Policy) -> InvalidArgument:
    """Field names cannot be split. If they alone exceed the hard cap, no valid answer exists."""
    return InvalidArgument(
        "The names of this record's fields are longer than an answer may be.",
        reason="names_too_long",
        parameter="fields",
        expected=f"names that fit into {policy.hard_cap:,} tokens together with the path to them",
        suggestion="Ask for other fields by name, or for a higher hardCap.",
    )
