"""Answers a record: whole if it fits its budget, else as a preview that says how to get every part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from context_protection.core import canonical, field_selection, masks, parts, summaries, tokens
from context_protection.core.budget import Body, density, dumps, length, render
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import NewSnapshot, Snapshot, Snapshots
from context_protection.core.errors import OverBudget, invalid_cursor
from context_protection.core.inference import proposals
from context_protection.core.masks import NOTHING_WITHHELD, Counts, withheld_in, withheld_in_body
from context_protection.core.payloads import AnswerRequest, Envelope, Outcome, Record, with_loss_note
from context_protection.core.policy import Policy, RulerName
from context_protection.core.shapes import Shape, with_sections

MAX_SECTIONS = 40  # a preview that is too large and has more sections names none of them
MEETS_TARGET = "meets_target"  # a member of `meta`, by the name that NSIP's clients expect
SMALLEST_META = frozenset({MEETS_TARGET, "kind", "totalFields", "originalTokens", "resultHandle"})
FILL = 0.95  # share of the hard cap that a part's first attempt aims at: parts differ in tokens per character


def answer(record: Record, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """Raises InvalidArgument (fields), InvalidCursor."""
    return _FirstAnswer(record, request, policy, snapshots).envelope()


def begin_snapshot(record: Record, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Snapshot:
    """A snapshot of the whole record. Its id is the record's handle."""
    return _FirstAnswer(record, request, policy, snapshots).whole_snapshot


def next_part(snapshot: Snapshot, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """The part that a cursor points at. Raises InvalidCursor if `fields` differ from the snapshot's."""
    if request.fields not in (None, snapshot.plan["fields"]):
        message = "The cursor was issued for other fields; fields cannot change from page to page."
        raise invalid_cursor("cursor_mismatch", "", message)
    written = snapshots.block(snapshot, 0)
    body = _part(orjson.loads(written), written, snapshot, request, policy, snapshots)
    return replace(_envelope(body, snapshot.plan["original"], paginated=True, baseline=0), chain=snapshot.id)


def stored_value(snapshot: Snapshot, snapshots: Snapshots) -> dict[str, Any]:
    """The record that the snapshot stores."""
    value: dict[str, Any] = orjson.loads(snapshots.block(snapshot, 0))
    return value


class _FirstAnswer:
    """The first answer to a call for one record."""

    def __init__(self, record: Record, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> None:
        self.request, self.policy, self.snapshots = request, policy, snapshots
        self.record = replace(record, shape=with_sections(record.shape, policy.sections)) if policy.sections else record
        whole = canonical.whole(record.value, self.record.shape)
        self.value = whole.value
        self.written = dumps(self.value)
        self.withheld = withheld_in_body(self.written, [self.value])
        self.note = {**canonical.note(whole.empty), **self.noted(self.withheld)}

    def noted(self, found: Counts) -> dict[str, Any]:
        """The record's note for `meta`, with the redacted paths of `found` added to those that it already names."""
        note = self.record.note
        return {**note, **masks.note([*note.get("withheld", ()), *masks.paths(found)])}

    @cached_property
    def upstreams(self) -> bytes:
        """Upstream's object as JSON."""
        return dumps(self.record.value) if self.record.shape.is_canonical else self.written

    @cached_property
    def original(self) -> int:
        return tokens.formula_of_length(length(self.upstreams))

    def envelope(self) -> Envelope:
        names = field_selection.split(self.request.fields) if self.request.fields is not None else []
        if names and (field_selection.ALL not in names or field_selection.wants_raw(names, self.record.shape)):
            return self.selection(names)
        by_default = not names and self.policy.summarization and not self.request.cannot_be_detailed
        if by_default and self.surely_exceeds_threshold():
            return self.preview()
        if (not by_default or self.whole.within_threshold(self.policy)) and self.whole.fits(self.policy):
            is_follow_up = names or self.record.follow_up
            baseline = self.baseline() if is_follow_up else None
            return _envelope(self.whole, self.original, baseline=baseline, found=self.withheld)
        return self.preview() if by_default else self.first_part(self.value, self.note)

    @cached_property
    def shape(self) -> Shape:
        """The record's shape; parts that it does not declare are inferred from the record."""
        return proposals.completed(self.record.shape, [self.record.value])

    @cached_property
    def whole(self) -> Body:
        return _whole(self.value, {"kind": "full", **self.note}, self.policy, self.request.operation)

    def surely_exceeds_threshold(self) -> bool:
        """Whether the fields alone have too many tokens, so that the whole answer need not be rendered."""
        estimated = tokens.formula_of_length(length(self.written))
        return self.policy.ruler is RulerName.FORMULA and estimated > self.policy.token_budget_threshold

    def selection(self, names: list[str]) -> Envelope:
        """The requested fields. `meta.withheld` names the redacted ones among them."""
        upstream = self.record.value
        shape = proposals.with_requested_sections(self.record.shape, names, [upstream])
        names = field_selection.resolved(names, [upstream], shape)
        chosen = field_selection.selected(upstream, names, shape)
        found = withheld_in(chosen.value)
        note = {**canonical.note(chosen.empty), **self.noted(found)}
        if advice := masks.advice(names, found):
            note["notes"] = [*note.get("notes", ()), *advice]
        whole = _whole(chosen.value, {"kind": "full", **note}, self.policy, self.request.operation)
        if whole.fits(self.policy):
            return _envelope(whole, self.original, baseline=self.baseline(), found=found)
        return self.first_part(chosen.value, note)

    def baseline(self) -> int:
        """The tokens that an unprotected API would have sent: 0 after a preview of the same record, which has counted
        the whole record already."""
        counted = self.record.follow_up or self.snapshots.has_stored(self.new_whole_snapshot())
        return 0 if counted else self.original

    # -- Preview ------------------------------------------------------------------------------------

    def preview(self) -> Envelope:
        """Identifying fields, and every section with its size. The sections together are the whole record."""
        summary = self.summary
        meta = {
            "kind": "preview",
            "totalFields": len(self.value),
            "projectedFields": list(summary),
            "originalTokens": self.original,
            **self.note,
            **(
                {"resultHandle": self.whole_snapshot.id}
                if self.request.result_operation and self.whole_snapshot.is_stored
                else {}
            ),
        }
        body = self.preview_with_target(meta, summary)
        baseline = 0 if self.record.follow_up else None
        return _envelope(
            body,
            self.original,
            summarized=True,
            baseline=baseline,
            is_complete=self.whole_snapshot.is_stored,
            found=self.withheld,
            missing=tuple(summaries.missing(self.record.value, self.shape, self.policy, summary)),
        )

    def preview_with_target(self, meta: dict[str, Any], summary: dict[str, Any]) -> Body:
        """The preview; if the shape has a target, the meta says whether the whole body meets it."""
        target = self.shape.target_reduction
        if not target:
            return self.fitting_preview(meta, summary)
        body = self.fitting_preview({**meta, MEETS_TARGET: True}, summary)
        if body.estimated_tokens <= (1 - target) * self.original:
            return body
        return self.fitting_preview({**meta, MEETS_TARGET: False}, summary)

    def fitting_preview(self, meta: dict[str, Any], summary: dict[str, Any]) -> Body:
        sections = self.sections()
        body = self.preview_body(meta, summary, sections)
        if len(sections) > MAX_SECTIONS and not (body.fits(self.policy) and body.within_threshold(self.policy)):
            body = self.preview_body(meta, summary, {})  # none is named: an incomplete list would look complete
        return body if body.fits(self.policy) else self.smallest(meta)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The preview's fields. Fields that are declared to stay whole are shortened, too, if they would take more than
        half of the hard cap."""
        kept = summaries.preview(self.record.value, self.shape, self.policy)
        if tokens.formula_of_length(length(dumps(kept))) <= self.policy.hard_cap // 2:
            return kept
        return summaries.preview(self.record.value, self.shape, self.policy, keeps=False)

    @cached_property
    def whole_snapshot(self) -> Snapshot:
        """The snapshot of the whole record. Its id is the handle; its existence marks later calls as follow-ups."""
        return self.snapshots.begin(self.new_whole_snapshot())

    def preview_body(self, meta: dict[str, Any], summary: dict[str, Any], sections: dict[str, Any]) -> Body:
        more = self.more()
        meta = {**meta, "detailsAvailable": {**more, "sections": sections}} if more else with_loss_note(meta)
        return render({"meta": meta, "summary": summary}, self.policy, self.request.operation)

    def more(self) -> dict[str, Any]:
        """The hint for the whole record. Empty if only the snapshot could provide the record, and it could not be
        stored."""
        if self.request.is_called_once and not self.whole_snapshot.is_stored:
            return {}
        return self.request.more_hint(self.whole_snapshot.id, fields=field_selection.ALL)

    def sections(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "estimatedTokens": tokens.formula_of_length(
                    length(dumps(dict(zip(fields, map(self.value.__getitem__, fields), strict=True))))
                )
            }
            for name, fields in self.shape.in_sections(self.value).items()
        }

    def smallest(self, meta: Mapping[str, Any]) -> Body:
        """The smallest preview, for names that are too long: only the hint that returns everything in parts."""
        smallest = {name: meta[name] for name in meta if name in SMALLEST_META}
        more = self.more()
        details = {"projectedFields": [], "detailsAvailable": more} if more else with_loss_note({})
        return render({"meta": {**smallest, **details}, "summary": {}}, self.policy, self.request.operation)

    # -- Parts --------------------------------------------------------------------------------------

    def first_part(self, value: dict[str, Any], note: dict[str, Any]) -> Envelope:
        """Begins a snapshot of `value` and answers its first part. All parts come from that same value."""
        baseline = self.baseline()
        handle = self.whole_snapshot.id if self.record.shape.is_canonical and self.whole_snapshot.is_stored else None
        fields = self.request.fields or field_selection.ALL
        written = self.written if value is self.value else dumps(value)
        snapshot = self.snapshots.begin(self.new_snapshot(written, fields, note, handle))
        body = _part(value, written, snapshot, self.request, self.policy, self.snapshots)
        envelope = _envelope(
            body,
            self.original,
            paginated=True,
            oversized=True,
            baseline=baseline,
            is_complete=snapshot.is_stored,
            found=self.withheld,
        )
        return replace(envelope, chain=snapshot.id if snapshot.is_stored else "", page=1)

    def new_whole_snapshot(self) -> NewSnapshot:
        return self.new_snapshot(self.upstreams, field_selection.ALL, self.noted(self.withheld))

    def new_snapshot(
        self, written: bytes, fields: str, note: Mapping[str, Any], handle: str | None = None
    ) -> NewSnapshot:
        """The snapshot for the parts of a value, `written` as JSON. `handle`: the id of the snapshot of upstream's
        object, if its canonical form differs from it."""
        plan = {"parts": True, "note": note, "fields": fields, "original": self.original}
        return NewSnapshot(self.request.origin, plan | ({"handle": handle} if handle else {}), [written])


def _whole(value: Mapping[str, Any], meta: dict[str, Any], policy: Policy, operation: str, **extra: Any) -> Body:
    """Our `meta` and the object's fields. If the object has a `meta` of its own, ours gets one underscore more."""
    has_meta = "meta" in "\0".join(value)  # true of few records
    own = [name for name in value if name.endswith("meta") and not name[:-4].strip("_")] if has_meta else []
    key = "_" * (max(map(len, own)) - 3) + "meta" if own else "meta"
    return render({key: meta, **extra, **value}, policy, operation, meta_key=key)


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
    missing: tuple[str, ...] = (),
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
        missing_fields=missing,
    )


def _part(
    value: dict[str, Any],
    written: bytes,
    snapshot: Snapshot,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
) -> Body:
    """The largest part from the requested position on that fits the hard cap. `written`: the whole value as JSON."""
    position = request.position or []
    room = max(parts.SMALLEST_ROOM, int(policy.hard_cap * FILL / density(written, policy)))
    while True:
        part = parts.take(value, position, room)
        body = _part_body(value, part, snapshot, request, policy, snapshots)
        if body.fits(policy):
            return body
        if room <= parts.SMALLEST_ROOM:
            raise _unsendable(policy)
        room = max(parts.SMALLEST_ROOM, int(room * min(0.9, 0.95 / body.fill(policy))))


def _part_body(
    value: dict[str, Any],
    part: parts.Part,
    snapshot: Snapshot,
    request: AnswerRequest,
    policy: Policy,
    snapshots: Snapshots,
) -> Body:
    position = request.position or []
    meta: dict[str, Any] = {"kind": "part"}
    if not position:
        meta |= snapshot.plan["note"]
        handle = snapshot.plan.get("handle", snapshot.id)
        meta |= {"resultHandle": handle} if request.result_operation and snapshot.is_stored else {}
    if (continued := parts.continues(value, position)) is not None:
        meta["continues"] = continued
    extra: dict[str, Any] = {}
    if part.following is not None and not snapshot.is_stored:
        return _whole(part.value, with_loss_note(meta), policy, request.operation)
    cursor = snapshots.cursor(snapshot, part.following) if part.following is not None else None
    if "nextCursor" in value:
        meta["nextCursor"] = cursor  # the record has a field of that name, so ours goes to `meta`; null at the end
    elif cursor is not None:
        extra["nextCursor"] = cursor
    return _whole(part.value, meta, policy, request.operation, **extra)


def _unsendable(policy: Policy) -> OverBudget:
    """Field names cannot be split. If they alone exceed the hard cap, no valid answer exists."""
    return OverBudget(
        "The names of this record's fields are longer than an answer may be.",
        reason="names_too_long",
        parameter="fields",
        expected=f"names that fit into {policy.hard_cap:,} tokens together with the path to them",
        suggestion="Request other fields by name, or ask an operator to raise hardCap.",
    )
