"""Answers a list with one page of a snapshot (`Walk`), in the richest form that the budget allows.

Steps: page → project → table → fewer rows → hard cap (ruling 14). Nothing is lost: `nextCursor` continues where a
shortened page ends, and a condensed page names the call that returns whole rows.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from context_protection.core import field_selection, records, summaries, tokens
from context_protection.core.budget import Body, dumps, render
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Snapshot, Walk, Walks
from context_protection.core.errors import InvalidArgument
from context_protection.core.page_forms import FormRequest, LayoutNames, PageForm, as_items, as_table, candidates
from context_protection.core.payloads import Ask, Envelope, Manner, Opening, Outcome, Page, Rows, noting_loss
from context_protection.core.policy import Policy, Ruler
from context_protection.core.query import query
from context_protection.core.withheld import withheld_in_rows

MOST_PAGES = 10  # in one answer
_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)
SHARES = 64  # a share of the rows is rounded down to one of so many steps per power of two
SHORT_BESIDE = 400  # bytes of JSON up to which upstream data beside the rows is sent inline
UNPAGED_ROWS = 2000  # with paging switched off, a page has at most this many rows, as far as the hard cap allows


def answer(rows: Rows, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """Returns one page. Raises InvalidArgument (limit, pages, fields, where, aggregate), InvalidCursor."""
    if ask.walk:
        rows = query.taken_up(rows, ask.arguments)
        place = _next_place(rows, ask, ask.walk, policy, walks)
    else:
        rows = query.answered(rows, ask.arguments)
        place = _first_place(rows, ask, policy)
    return _Pager(place, ask, policy, walks).richest(candidates(place.form_request, rows, ask, policy))


def page_size(limit: int | None, policy: Policy) -> int:
    """The number of rows of a page. A limit out of range is an error; it is never silently reduced (FR-002)."""
    if limit is None:
        return policy.default_page_size
    if 1 <= limit <= policy.max_page_size:
        return limit
    wrong = "is below 1" if limit < 1 else f"exceeds maximum of {policy.max_page_size}"
    raise InvalidArgument(
        f"limit {wrong}.",
        reason="invalid_limit",
        parameter="limit",
        value=limit,
        expected=f"a whole number from 1 to {policy.max_page_size}",
        suggestion=f"Set limit to {1 if limit < 1 else policy.max_page_size}, and follow nextCursor for more rows.",
    )


def size_of_next(ask: Ask, walk: Walk, policy: Policy) -> int:
    """The page size of a continued snapshot: the limit of this call, or else that of the first page."""
    first = walk.plan["form"]["limit"]
    # The maximum may have been lowered since the first page was sent with this limit.
    return page_size(ask.limit if ask.limit is not None else first and min(first, policy.max_page_size), policy)


def page_span(pages: str, *, with_cursor: bool = False) -> tuple[int, int]:
    """Parses `pages` into the first and the last page: "2-4", or "3" for the first three."""
    match = _SPAN.fullmatch(pages)
    if match and not with_cursor:
        first, last = (int(match[1]), int(match[2])) if match[2] else (1, int(match[1]))
        if 1 <= first <= last < first + MOST_PAGES:
            return first, last
    raise InvalidArgument(
        "pages and cursor exclude each other." if with_cursor else "pages is not a span of pages.",
        reason="invalid_pages",
        parameter="pages",
        value=pages,
        expected=f"a span such as 1-3, of at most {MOST_PAGES} pages, without a cursor",
        suggestion="Leave cursor out." if with_cursor else "Set pages to 1-3.",
    )


# -- Locating the page ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A page and its snapshot. `walk` is None for a first page: a snapshot is stored only when a page follows."""

    page: Page
    size: int
    budget: int  # tokens that the page may take, by the threshold's ruler
    opening: Opening
    manner: Manner
    walk: Walk | None
    form: Mapping[str, Any]  # fields, format and limit of this call, or else of the first page

    @property
    def form_request(self) -> FormRequest:
        return FormRequest(self.page, self.budget, self.form["fields"], self.form["format"])


def _first_place(rows: Rows, ask: Ask, policy: Policy) -> _Place:
    size = page_size(ask.limit, policy) if policy.pagination else UNPAGED_ROWS
    opening = rows.open()
    budget, position, count = policy.token_budget_threshold, None, size
    if ask.pages:
        budget, count = policy.hard_cap, (ask.pages[1] - ask.pages[0] + 1) * size
        position = _position_after(rows, opening, (ask.pages[0] - 1) * size, ask.pages)
    page = rows.page(opening.plan, None, position, count)
    return _Place(page, size, budget, opening, rows.manner, None, _requested_form(ask))


def _position_after(rows: Rows, opening: Opening, count: int, pages: tuple[int, int]) -> Any:
    """The position after the first `count` rows. Raises InvalidArgument if it is too far in or no row follows."""
    if count == 0:
        return None
    too_far = count > UNPAGED_ROWS and count < (opening.total or math.inf)
    before = rows.page(opening.plan, None, None, count) if count <= UNPAGED_ROWS else None
    if before is not None and before.more:
        return before.positions[-1]
    among = "its rows" if opening.total is None else f"the {opening.total:,} rows"
    raise InvalidArgument(
        f"pages begins at page {pages[0]}, "
        + ("which is too far in to begin there." if too_far else "behind the last page."),
        reason="invalid_pages",
        parameter="pages",
        value=f"{pages[0]}-{pages[1]}",
        expected=f"pages among {among}, beginning within the first {UNPAGED_ROWS:,}",
        suggestion="Set pages to 1-3, and follow nextCursor for more.",
    )


def _next_place(rows: Rows, ask: Ask, walk: Walk, policy: Policy, walks: Walks) -> _Place:
    now = {name: value for name, value in _requested_form(ask).items() if value is not None}
    form, size = {**walk.plan["form"], **now}, size_of_next(ask, walk, policy)
    page = rows.page(walk.plan["source"], lambda numbers: walks.blocks(walk, numbers), ask.position, size)
    budget = policy.token_budget_threshold
    return _Place(page, size, budget, Opening(walk.plan["total"]), rows.manner, walk, form)


def _requested_form(ask: Ask) -> Mapping[str, Any]:
    return {"fields": ask.fields, "format": ask.format, "limit": ask.limit}


# -- Choosing the number of rows --------------------------------------------------------------------


class _Pager:
    """Renders a page in a given form, with a given number of its rows."""

    def __init__(self, place: _Place, ask: Ask, policy: Policy, walks: Walks) -> None:
        self.place, self.ask, self.policy, self.walks = place, ask, policy, walks
        self.page = place.page

    def richest(self, forms: Sequence[PageForm]) -> Envelope:
        for form in forms:
            body = self.body(form, len(form.rows))
            if self.acceptable(body, form):
                return self.envelope(
                    form, len(form.rows), body, oversized=form is not forms[0] and form.layout is as_table
                )
        return self.shrunk(forms[-1], body)

    def shrunk(self, form: PageForm, body: Body) -> Envelope:
        """As many rows as fit. If a single row does not fit, it is sent as its preview, and at worst as its id."""
        count = len(form.rows)
        while count > 1 and not self.acceptable(body, form):
            count = max(1, min(count - 1, int(count * self.share(body, form))))
            body = self.body(form, count)
        for smaller in (self.first_row_preview, self.first_row_named) if not body.fits(self.policy) else ():
            form = smaller(form)
            body = self.body(form, 1)
            if body.fits(self.policy):
                break
        return self.envelope(form, count, body, oversized=True)

    def acceptable(self, body: Body, form: PageForm) -> bool:
        uses_threshold = form.budget <= self.policy.token_budget_threshold
        return body.fits(self.policy) and (
            body.within_threshold(self.policy) if uses_threshold else body.estimated_tokens <= form.budget
        )

    def share(self, body: Body, form: PageForm) -> float:
        """The share of the rows that is likely to fit, a little below what the sizes suggest. It is rounded to coarse
        steps: hints differ by a few characters between transports, but pages must not (law 4)."""
        measured = body.claude_tokens if self.policy.ruler is Ruler.CLAUDE else body.estimated_tokens
        mantissa, exponent = math.frexp(0.98 / max(measured / form.budget, body.fill(self.policy)))
        return math.ldexp(int(mantissa * SHARES) / SHARES, exponent)

    def first_row_preview(self, form: PageForm) -> PageForm:
        """Only the first row, condensed, with the call that returns it whole."""
        row = dict(self.condensed_first)
        key = row.get(self.ask.record_key[1]) if self.ask.record_operation else None
        prefers_record = self.ask.record_is_row or not self.ask.result_operation
        if key is not None and prefers_record and self.place.manner.condensable:  # groups are not records
            row["detailsAvailable"] = self.ask.open_row(key)
        elif self.ask.result_operation and self.walk.is_kept:
            arguments = {"handle": self.walk.id, "rows": str(self.page.positions[0] - 1), "fields": field_selection.ALL}
            row["detailsAvailable"] = self.ask.hints(self.ask.result_operation, arguments)
        return replace(form, rows=[row], meta={**form.meta, "kind": "preview"}, layout=as_items, summarized=True)

    @cached_property
    def condensed_first(self) -> Mapping[str, Any]:
        """The first row with the fields of its preview. What ops chose does not apply to groups."""
        policy = self.policy if self.place.manner.condensable else replace(self.policy, summary_fields="")
        return self.page.condensed(policy)[0]

    def first_row_named(self, form: PageForm) -> PageForm:
        """Only the id of the first row, because its preview or the names in `meta` exceed the hard cap."""
        row = {"id": summaries.reduced(self.condensed_first.get("id"), "id", self.policy)}
        return replace(form, rows=[row], meta={"kind": "preview"}, layout=as_items, summarized=True)

    def body(self, form: PageForm, count: int) -> Body:
        rows = form.rows[:count]
        more = count < len(self.page.positions) or self.page.more
        paging = self.paging_meta(count, more)
        meta = {**paging, **form.meta, **self.place.opening.note, **self.beside}
        if form.summarized:
            meta["originalTokens"] = self.original_tokens(count)
            if self.ask.once and not self.walk.is_kept:
                meta.pop("detailsAvailable", None)
            elif self.ask.once and "detailsAvailable" in meta:
                meta["detailsAvailable"] = self.ask.more(
                    self.walk.id, **self.own_rows(count), fields=field_selection.ALL
                )
        elif not paging:
            del meta["kind"]  # a complete list for a caller who does not page: only the rows and the budget figures
        gives_handle = self.ask.result_operation and self.place.walk is None and (more or form.summarized)
        if gives_handle and self.walk.is_kept:
            meta["resultHandle"] = self.walk.id
        if more and not self.walk.is_kept:
            meta = noting_loss(meta)
        document: dict[str, Any] = {"meta": meta}
        if more and self.walk.is_kept:
            document["nextCursor"] = self.walks.cursor(self.walk, self.page.positions[count - 1])
        document.update(form.layout(rows, meta, LayoutNames(self.place.manner.key, self.ask.record_key[1])))
        return render(document, self.policy)

    def own_rows(self, count: int) -> dict[str, Any]:
        """The `rows` argument that limits a hint to this page. Empty for the first page: its hint returns all rows."""
        if self.place.walk is None or not self.ask.result_operation or "rows" not in self.walk.plan["source"]:
            return {}
        return {"rows": f"{self.page.positions[0] - 1}-{self.page.positions[count - 1] - 1}"}

    @cached_property
    def beside(self) -> dict[str, Any]:
        """Upstream's data beside the rows: inline if it is short, else the call that returns it."""
        beside = self.place.opening.beside
        if not beside:
            return {}
        if len(dumps(beside)) <= SHORT_BESIDE or not self.ask.result_operation:
            return {"beside": beside}
        walk = records.kept(dict(beside), self.ask, self.policy, self.walks)
        if not walk.is_kept:
            return {}
        return {"beside": self.ask.hints(self.ask.result_operation, {"handle": walk.id, "fields": field_selection.ALL})}

    def paging_meta(self, count: int, more: bool) -> dict[str, Any]:
        """Empty if the caller does not page and gets all rows (ruling 2)."""
        pages = self.ask.limit or self.ask.walk or self.ask.pages
        if not (more or pages or self.policy.meta_on_small_lists):
            return {}
        shrunk = count < len(self.page.positions)
        total = self.place.opening.total
        meta = {
            **({} if total is None else {"totalCount": total}),
            "pageSize": count if shrunk else self.place.size,
            "hasMore": more,
        }
        return {**meta, "snapshotAt": _iso(self.walk.taken_at)} if more and self.walk.is_kept else meta

    @cached_property
    def walk(self) -> Walk:
        """The snapshot. A new one is stored only when it is first used, so that a list of one page stores nothing."""
        if self.place.walk is not None:
            return self.place.walk
        opening = self.place.opening
        plan = {"total": opening.total, "source": opening.plan, "form": self.place.form}
        return self.walks.begin(Snapshot(self.ask.origin, plan, opening.blocks()))

    def original_tokens(self, count: int) -> int:
        """The formula's tokens of these rows as upstream sends them, commas included."""
        return tokens.formula_of_length(sum(self.page.chars[:count]) + count)

    def envelope(self, form: PageForm, count: int, body: Body, *, oversized: bool) -> Envelope:
        paginated = self.ask.walk is not None or count < len(self.page.positions) or self.page.more
        summarized = form.summarized
        return Envelope(
            body=body.data,
            outcome=Outcome.PAGINATED if paginated else Outcome.SUMMARIZED if summarized else Outcome.PLAIN,
            estimated_tokens=body.estimated_tokens,
            claude_tokens=body.claude_tokens,
            original_tokens=self.original_tokens(count),
            baseline_tokens=0 if self.place.manner.follow_up else None,
            items=count,
            paginated=paginated,
            summarized=summarized,
            oversized=oversized,
            is_complete="walk" not in self.__dict__ or self.walk.is_kept,
            withheld=withheld_in_rows(form.rows[:count]),
        )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
