"""Answers a list with one page of a snapshot.

Steps: page → project → fewer rows → hard cap (rulings 14 and 39). Nothing is lost: `nextCursor` continues where a
shortened page ends, and the first condensed page names the call that returns whole rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from context_protection.core import field_selection, list_queries, records, side_data, summaries, tokens
from context_protection.core.budget import Body, dumps, render, render_plain
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import NewSnapshot, Snapshot, Snapshots
from context_protection.core.errors import InvalidArgument
from context_protection.core.list_positions import ListPosition
from context_protection.core.masks import withheld_in_body
from context_protection.core.page_forms import (
    ITEMS,
    TABLE,
    FormRequest,
    PageForm,
    as_table,
    may_condense,
    page_form,
)
from context_protection.core.page_sizes import UNPAGED_ROWS, fills_pages, size_of_first, size_of_next
from context_protection.core.payloads import (
    AnswerRequest,
    Envelope,
    Opening,
    Outcome,
    Page,
    Record,
    RowOptions,
    Rows,
    with_loss_note,
)
from context_protection.core.policy import Policy, RulerName
from context_protection.core.shapes import Shape
from context_protection.core.withheld_fields import MASK

FIRST = ListPosition(None, 0, 1)
STEPS = 64  # the mantissa of what a body uses is rounded up to a multiple of 1 / STEPS
SHORT_BESIDE = 400  # bytes of JSON up to which upstream data beside the rows is sent inline


def answer(rows: Rows, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Envelope:
    """Returns one page. Raises InvalidArgument (limit, pages, fields, where, aggregate), InvalidCursor."""
    if request.snapshot:
        rows = list_queries.resume(rows, request.arguments)
        place = _next_place(rows, request, request.snapshot, policy, snapshots)
    else:
        source, rows = rows, list_queries.run(rows, request.arguments, request.search)
        size = size_of_first(request, policy, fills=fills_pages(rows))  # checks the limit before any row is read
        opening = rows.open()
        if opening.total == 0 and (notes := list_queries.about_no_rows(source, request.arguments, request.search)):
            opening = replace(opening, note={**opening.note, "notes": [*opening.note.get("notes", ()), *notes]})
        if not policy.pagination and (complete := _unpaged(rows, opening, request, policy, snapshots)):
            return complete
        place = _first_place(rows, opening, size, request, policy)
    return _Pager(place, rows.shape, request, policy, snapshots).envelope()


# -- With paging switched off -----------------------------------------------------------------------


def _unpaged(
    rows: Rows, opening: Opening, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> Envelope | None:
    """All rows as upstream sent them: what callers got before paging existed. There is no `meta` unless it says more
    than the time of the rows. None if the caller pages or chose a format, if the rows are not upstream's, or if they
    are too many; the list then comes in pages."""
    if request.limit is not None or request.pages or request.format or not rows.options.condensable:
        return None
    page = rows.page(opening.plan, None, None, UNPAGED_ROWS)
    if page.more:
        return None
    chosen = {"fields": request.fields or field_selection.RAW, "format": ITEMS, "limit": None, "condensed": False}
    place = _PagePlace(page, UNPAGED_ROWS, policy.hard_cap, opening, rows.options, None, chosen)
    form = page_form(place.form_request, rows.shape, request, policy)
    body = render_plain({rows.options.key: form.rows}, policy, request.operation)
    if len(form.rows) < len(page.positions) or not body.fits(policy):
        return None
    withheld = withheld_in_body(body.data, form.rows)
    if withheld or opening.beside or page.beside or opening.note.keys() - {"asOf"}:
        envelope = _Pager(place, rows.shape, request, policy, snapshots).envelope()
        return envelope if envelope.items == len(form.rows) else None
    chars = page.chars(len(form.rows))
    return Envelope(
        body=body.data,
        outcome=Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=_formula(chars),
        items=len(form.rows),
        total_rows=len(form.rows),
        largest_row_tokens=_formula_of_largest(chars),
        page=1,
    )


def _formula(chars: Sequence[int]) -> int:
    """The formula's tokens for whole rows of these lengths, commas included."""
    return tokens.formula_of_length(sum(chars) + len(chars))


def _formula_of_largest(chars: Sequence[int]) -> int:
    return tokens.formula_of_length(max(chars, default=0))


# -- Locating the page ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PagePlace:
    """A page and its snapshot. `snapshot` is None for a first page, whose snapshot is stored only if it is needed."""

    page: Page
    size: int
    budget: int  # tokens that the page may take, by the threshold's ruler
    opening: Opening
    options: RowOptions
    snapshot: Snapshot | None
    form: Mapping[str, Any]  # fields, format, limit: of this call, or else of the first page; condensed: of the list
    position: ListPosition = FIRST  # of the page

    @property
    def form_request(self) -> FormRequest:
        form, is_first = self.form, self.snapshot is None
        return FormRequest(self.page, self.budget, form["fields"], form["format"], form["condensed"], is_first)


def _first_place(rows: Rows, opening: Opening, size: int, request: AnswerRequest, policy: Policy) -> _PagePlace:
    budget, position, count, before, number = policy.token_budget_threshold, None, size, 0, 1
    if request.pages:
        budget, count = policy.hard_cap, (request.pages[1] - request.pages[0] + 1) * size
        before, number = (request.pages[0] - 1) * size, request.pages[0]
        position = _position_after(rows, opening, before, request.pages)
    page = rows.page(opening.plan, None, position, count)
    read = {count: page} if position is None else {}
    form = {**_requested_form(request), "condensed": _is_condensed(rows, opening, read, request, policy)}
    return _PagePlace(page, size, budget, opening, rows.options, None, form, ListPosition(position, before, number))


def _is_condensed(
    rows: Rows, opening: Opening, read: Mapping[int, Page], request: AnswerRequest, policy: Policy
) -> bool:
    """Whether the rows of all pages are condensed. Rows of a declared type always are; others if a page of the default
    size, or of a larger `limit`, would exceed its budget. `read`: first pages that have been read, by size."""
    if not may_condense(rows, request, policy) or rows.shape.is_canonical:
        return may_condense(rows, request, policy)
    size = max(request.limit or 0, policy.default_page_size)
    sample = read.get(size) or rows.page(opening.plan, None, None, size)
    count = len(sample.positions)
    chars = sum(sample.chars(count))
    if sample.more and count:  # upstream may have sent fewer rows
        chars = chars * size // count
    return tokens.formula_of_length(chars) > policy.token_budget_threshold


def _position_after(rows: Rows, opening: Opening, count: int, pages: tuple[int, int]) -> Any:
    """The position after the first `count` rows. Raises InvalidArgument if it is too far from the start, or if no row
    follows."""
    if count == 0:
        return None
    too_far = count > UNPAGED_ROWS and count < (opening.total or math.inf)
    before = rows.page(opening.plan, None, None, count) if count <= UNPAGED_ROWS else None
    if before is not None and before.more:
        return before.positions[-1]
    among = "its rows" if opening.total is None else f"the {opening.total:,} rows"
    raise InvalidArgument(
        f"pages begins at page {pages[0]}, "
        + ("which is too far from the start." if too_far else "after the last page."),
        reason="invalid_pages",
        parameter="pages",
        value=f"{pages[0]}-{pages[1]}",
        expected=f"pages among {among}, beginning within the first {UNPAGED_ROWS:,}",
        suggestion="Set pages to 1-3, and follow nextCursor for more.",
    )


def _next_place(
    rows: Rows, request: AnswerRequest, snapshot: Snapshot, policy: Policy, snapshots: Snapshots
) -> _PagePlace:
    now = {name: value for name, value in _requested_form(request).items() if value is not None}
    form = {**snapshot.plan["form"], **now}
    size = size_of_next(request, snapshot, policy, fills=fills_pages(rows))
    position = ListPosition.of(request)
    page = rows.page(snapshot.plan["source"], lambda numbers: snapshots.blocks(snapshot, numbers), position.place, size)
    budget, opening = policy.token_budget_threshold, Opening(snapshot.plan["total"], note=page.note)
    return _PagePlace(page, size, budget, opening, rows.options, snapshot, form, position)


def _requested_form(request: AnswerRequest) -> Mapping[str, Any]:
    return {"fields": request.fields, "format": request.format, "limit": request.limit}


# -- Choosing the number of rows --------------------------------------------------------------------


class _Pager:
    """Renders a page, with as many of its rows as its budget allows."""

    def __init__(
        self, place: _PagePlace, shape: Shape, request: AnswerRequest, policy: Policy, snapshots: Snapshots
    ) -> None:
        self.place, self.request, self.policy, self.snapshots = place, request, policy, snapshots
        self.page = place.page
        self._chars: Sequence[int] = ()  # the lengths of the first rows
        self._besides: dict[int, dict[str, Any]] = {}  # by the number of upstream's later pages in the answer
        form = page_form(place.form_request, shape, request, policy)
        # Rows that have not been written are few, and mostly fit.
        self.form = form if form.known is None else form.shortened(policy)

    def envelope(self) -> Envelope:
        """An envelope with as many rows as fit. If a single row does not fit, it is sent as its preview, and at worst
        as its id."""
        form, count = self.form, len(self.form.rows)
        is_cut = count < len(self.page.positions)
        body = self.body(form, count)
        fits = is_acceptable = self.acceptable(body, form)
        while count > 1 and not is_acceptable:
            form, count = self.fewer(form, count, body)
            body = self.body(form, count)
            is_acceptable = self.acceptable(body, form)
        for smaller in (self.first_row_preview, self.first_row_named) if not body.fits(self.policy) else ():
            form = smaller(form)
            body = self.body(form, 1)
            if body.fits(self.policy):
                break
        return self.finished(form, count, body, oversized=is_cut or not fits)

    def fewer(self, form: PageForm, count: int, body: Body) -> tuple[PageForm, int]:
        """The form with fewer rows, which likely fit. What the body uses is rounded to coarse steps: hints differ by a
        few characters between transports, but pages must not (law 4)."""
        if form.known is None:
            form = form.shortened(self.policy)
            if len(form.rows) < count:
                return form, len(form.rows)
        mantissa, exponent = math.frexp(self.used(body, form.budget))
        used = math.ldexp(math.ceil(mantissa * STEPS) / STEPS, exponent)
        return form, min(count - 1, form.fitting_count(count, used))

    def acceptable(self, body: Body, form: PageForm) -> bool:
        uses_threshold = form.budget <= self.policy.token_budget_threshold
        is_within = body.within_threshold(self.policy) if uses_threshold else body.estimated_tokens <= form.budget
        return is_within and body.fits(self.policy)

    def used(self, body: Body, budget: int) -> float:
        """How many times the budget, or else the hard cap, the body uses."""
        is_counted = self.policy.ruler is RulerName.CLAUDE
        used = (body.claude_tokens if is_counted else body.estimated_tokens) / budget
        return used if used > 1 else body.fill(self.policy)

    def first_row_preview(self, form: PageForm) -> PageForm:
        """Only the first row, condensed, with the call that returns it whole."""
        row = dict(self.condensed_first)
        key = row.get(self.request.record_key[1]) if self.request.record_operation else None
        prefers_record = self.request.record_is_row or not self.request.result_operation
        if key not in (None, MASK) and prefers_record and self.place.options.condensable:  # groups are not records
            row["detailsAvailable"] = self.request.row_hint(key)
        elif self.request.result_operation and self.snapshot.is_stored:
            arguments = {
                "handle": self.snapshot.id,
                "rows": str(self.place.position.before),
                "fields": field_selection.ALL,
            }
            row["detailsAvailable"] = self.request.hints(self.request.result_operation, arguments)
        return form.with_only(row, {**form.meta, "kind": "preview"})

    @cached_property
    def condensed_first(self) -> Mapping[str, Any]:
        """The first row with the fields of its preview. Fields chosen by ops do not apply to groups."""
        policy = self.policy if self.place.options.condensable else replace(self.policy, summary_fields="")
        return self.page.condensed(policy)[0]

    def first_row_named(self, form: PageForm) -> PageForm:
        """Only the id of the first row, because its preview or the names in `meta` exceed the hard cap."""
        row = {"id": summaries.reduced(self.condensed_first.get("id"), "id", self.policy)}
        return form.with_only(row, {"kind": "preview"})

    def body(self, form: PageForm, count: int) -> Body:
        more = count < len(self.page.positions) or self.page.more
        document: dict[str, Any] = {"meta": self.meta(form, count, more)}
        if more and self.snapshot.is_stored:
            position = self.place.position.after(self.page.positions[count - 1], count)
            document["nextCursor"] = self.snapshots.cursor(self.snapshot, position)
        document.update(form.members(count, self.place.options.key))
        return render(document, self.policy, self.request.operation)

    def meta(self, form: PageForm, count: int, more: bool) -> dict[str, Any]:
        paging = self.paging_meta(count, more)
        notes = [*form.meta.get("notes", ()), *self.place.opening.note.get("notes", ())]
        noted = {"notes": notes} if notes else {}
        meta = {**paging, **form.meta, **self.place.opening.note, **noted, **self.beside(count)}
        if form.summarized and self.place.snapshot is None:
            meta["originalTokens"] = self.original_tokens(count)
            if self.request.is_called_once and not self.snapshot.is_stored:
                meta.pop("detailsAvailable", None)
            elif self.request.is_called_once and "detailsAvailable" in meta:
                meta["detailsAvailable"] = self.request.more_hint(self.snapshot.id, fields=field_selection.ALL)
        elif not paging:
            del meta["kind"]  # a complete list for a caller who does not page: only the rows and the budget figures
        has_more = more or form.summarized or self.place.options.always_handle
        gives_handle = self.request.result_operation and self.place.snapshot is None and has_more
        if gives_handle and self.snapshot.is_stored:
            meta["resultHandle"] = self.snapshot.id
        if self.request.pages and count < len(self.page.positions):
            meta["notes"] = [*meta.get("notes", ()), _incomplete(count, len(self.page.positions))]
        return with_loss_note(meta) if more and not self.snapshot.is_stored else meta

    def beside(self, count: int) -> dict[str, Any]:
        """Upstream's data beside the first `count` rows: inline if it is short, else the call that returns it."""
        later = [each for place, each in self.page.beside.items() if place < count]
        beside = side_data.joined([self.place.opening.beside, *later])
        if beside and len(later) not in self._besides:
            self._besides[len(later)] = self._beside_or_hint(beside)
        return self._besides.get(len(later), {})

    def _beside_or_hint(self, beside: Mapping[str, Any]) -> dict[str, Any]:
        if len(dumps(beside)) <= SHORT_BESIDE or not self.request.result_operation:
            return {"beside": beside}
        record = Record(dict(beside), follow_up=True)
        snapshot = records.begin_snapshot(record, self.request, self.policy, self.snapshots)
        if not snapshot.is_stored:
            return {}
        return {
            "beside": self.request.hints(
                self.request.result_operation, {"handle": snapshot.id, "fields": field_selection.ALL}
            )
        }

    def paging_meta(self, count: int, more: bool) -> dict[str, Any]:
        """Empty if the caller does not page and gets all rows (ruling 2)."""
        pages = self.request.limit or self.request.snapshot or self.request.pages
        if not (more or pages or self.policy.meta_on_small_lists):
            return {}
        shrunk = count < len(self.page.positions)
        total = self.place.opening.total
        meta = {
            **({} if total is None else {"totalCount": total}),
            "pageSize": count if shrunk else self.place.size,
            "hasMore": more,
        }
        return {**meta, "snapshotAt": _iso(self.snapshot.taken_at)} if more and self.snapshot.is_stored else meta

    @cached_property
    def snapshot(self) -> Snapshot:
        """The snapshot. A new one is stored only when it is first used, so that a list of one page stores nothing."""
        if self.place.snapshot is not None:
            return self.place.snapshot
        opening = self.place.opening
        form = {**self.place.form, "format": TABLE if self.form.layout is as_table else ITEMS}
        plan = {"total": opening.total, "source": opening.plan, "form": form}
        return self.snapshots.begin(NewSnapshot(self.request.origin, plan, opening.blocks()))

    def chars(self, count: int) -> Sequence[int]:
        """The lengths of the first `count` whole rows as JSON."""
        if count > len(self._chars):
            self._chars = self.page.chars(count)
        return self._chars[:count]

    def original_tokens(self, count: int) -> int:
        return _formula(self.chars(count))

    def finished(self, form: PageForm, count: int, body: Body, *, oversized: bool) -> Envelope:
        more = count < len(self.page.positions) or self.page.more
        paginated = self.request.snapshot is not None or more
        summarized, has_snapshot = form.summarized, "snapshot" in self.__dict__ or self.place.snapshot is not None
        total = self.place.opening.total
        if total is None and not more:
            total = self.place.position.before + count
        return Envelope(
            body=body.data,
            outcome=Outcome.PAGINATED if paginated else Outcome.SUMMARIZED if summarized else Outcome.PLAIN,
            estimated_tokens=body.estimated_tokens,
            claude_tokens=body.claude_tokens,
            original_tokens=self.original_tokens(count),
            baseline_tokens=0 if self.place.options.follow_up else None,
            items=count,
            total_rows=total or 0,
            largest_row_tokens=_formula_of_largest(self.chars(count)),
            chain=self.snapshot.id if has_snapshot and self.snapshot.is_stored else "",
            page=self.place.position.number,
            paginated=paginated,
            summarized=summarized,
            oversized=oversized,
            is_complete="snapshot" not in self.__dict__ or self.snapshot.is_stored,
            withheld=withheld_in_body(body.data, form.rows[:count]),
        )


def _incomplete(count: int, requested: int) -> str:
    return (
        f"Only {count} of the {requested} rows fit. nextCursor continues after them; the next page number would "
        "skip the others."
    )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
