"""A list's answer: one page of a walk, in the richest form that its budget allows.

page → project → table → fewer rows → the hard cap (ruling 14). Nothing is lost: a page that was made smaller ends
where its `nextCursor` goes on, and condensed rows say how to get whole ones.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from context_protection.core import field_selection, records, summaries, tokens, withheld
from context_protection.core.budget import Body, dumps, render
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Snapshot, Walk, Walks
from context_protection.core.errors import InvalidArgument
from context_protection.core.inference import proposals
from context_protection.core.payloads import Ask, Envelope, Manner, Opening, Outcome, Page, Rows, noting_loss
from context_protection.core.policy import Policy, Ruler
from context_protection.core.query import query
from context_protection.core.shapes import Shape
from context_protection.core.tables import constants, table
from context_protection.core.withheld import withheld_in_rows

TABLE, ITEMS = "table", "items"
MOST_PAGES = 10  # at once
_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)
SHARES = 64  # steps between a share and its double, in which a page that is too large is made smaller
HOISTED_ROWS = 3  # from so many rows on, what they have in common is said once
SHORT_BESIDE = 400  # bytes of JSON
UNPAGED_ROWS = 2000  # with paging switched off, a page is as many rows as the cap holds, of at most these


def answer(rows: Rows, ask: Ask, policy: Policy, walks: Walks) -> Envelope:
    """One page. Raises InvalidArgument (limit, pages, fields, where, aggregate), InvalidCursor."""
    if ask.walk:
        rows = query.taken_up(rows, ask.arguments)
        place = _next_place(rows, ask, ask.walk, policy, walks)
    else:
        rows = query.answered(rows, ask.arguments)
        place = _first_place(rows, ask, policy)
    return _Pager(place, ask, policy, walks).richest(_forms(place, rows, ask, policy))


def page_size(limit: int | None, policy: Policy) -> int:
    """The rows of a page. A limit out of range is refused, never quietly cut (FR-002)."""
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
    """The rows of a page of a walk that goes on: as asked now, or else at its first page."""
    first = walk.plan["form"]["limit"]
    # The limit that was fine at the first page may be over a maximum that was lowered since.
    return page_size(ask.limit if ask.limit is not None else first and min(first, policy.max_page_size), policy)


def page_span(pages: str, *, with_cursor: bool = False) -> tuple[int, int]:
    """The first and the last page of `pages`: "2-4", or "3" for the first three."""
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


# -- Where the page is ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A page, and what is known of the walk that it belongs to; a walk is stored only once it goes on."""

    page: Page
    size: int
    budget: int  # tokens of the threshold's ruler that it may take
    opening: Opening
    manner: Manner
    walk: Walk | None
    form: Mapping[str, Any]  # fields, format and limit: as they were asked now, or else at the first page


def _first_place(rows: Rows, ask: Ask, policy: Policy) -> _Place:
    size = page_size(ask.limit, policy) if policy.pagination else UNPAGED_ROWS
    opening = rows.open()
    budget, position, count = policy.token_budget_threshold, None, size
    if ask.pages:
        budget, count = policy.hard_cap, (ask.pages[1] - ask.pages[0] + 1) * size
        position = _position_after(rows, opening, (ask.pages[0] - 1) * size, ask.pages)
    page = rows.page(opening.plan, None, position, count)
    return _Place(page, size, budget, opening, rows.manner, None, _form_asked(ask))


def _position_after(rows: Rows, opening: Opening, count: int, pages: tuple[int, int]) -> Any:
    """The position behind the first `count` rows. Raises InvalidArgument where there is nothing behind them."""
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
    now = {name: value for name, value in _form_asked(ask).items() if value is not None}
    form, size = {**walk.plan["form"], **now}, size_of_next(ask, walk, policy)
    page = rows.page(walk.plan["source"], lambda numbers: walks.blocks(walk, numbers), ask.position, size)
    budget = policy.token_budget_threshold
    return _Place(page, size, budget, Opening(walk.plan["total"]), rows.manner, walk, form)


def _form_asked(ask: Ask) -> Mapping[str, Any]:
    return {"fields": ask.fields, "format": ask.format, "limit": ask.limit}


# -- In which form ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """Rows that could be sent. `budget` is the most tokens of the formula that they may take."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    budget: int
    table: bool = False
    hoisted: bool = False  # what all rows have in common stands in meta
    summarized: bool = False


def _forms(place: _Place, rows: Rows, ask: Ask, policy: Policy) -> list[_Form]:
    """The forms that this page may take, the richest first; the last one is shrunk until it fits."""
    shape, fields = rows.shape, place.form["fields"]
    if fields is not None:
        form = _projected(place, field_selection.split(fields), shape, policy)
        return _as_asked(form, place, policy)
    if not policy.summarization or ask.cannot_be_detailed:
        return _as_asked(_projected(place, [field_selection.ALL], shape, policy), place, policy)
    if not rows.manner.condensable:
        return _as_asked(_whole(place, shape, policy), place, policy)
    as_tables = replace(policy, tables_when_smaller=policy.tables_when_smaller or shape.tabular)
    condensed = _as_asked(_condensed(place, shape, ask, policy), place, as_tables)
    if tokens.formula_of_length(sum(place.page.chars)) > place.budget:
        return condensed
    return [*_as_asked(_whole(place, shape, policy), place, policy)[:1], *condensed]


def _as_asked(form: _Form, place: _Place, policy: Policy) -> list[_Form]:
    """As items, then as a table; as the one of them that the caller chose, or that ops want where it is smaller."""
    chosen = place.form["format"]
    as_table = replace(form, table=True)
    if chosen is None and policy.tables_when_smaller and len(dumps(table(form.rows))) < len(dumps(form.rows)):
        chosen = TABLE
    return [as_table] if chosen == TABLE else [form] if chosen == ITEMS else [form, as_table]


def _whole(place: _Place, shape: Shape, policy: Policy) -> _Form:
    """Whole rows that nobody asked to have whole: as many as the page's budget holds."""
    return replace(_projected(place, [field_selection.ALL], shape, policy), budget=place.budget)


def _projected(place: _Place, names: Sequence[str], shape: Shape, policy: Policy) -> _Form:
    """Whole rows, or the asked fields of them, without what lists leave out."""
    everything = field_selection.ALL in names
    count = _worth_reading(place.page.chars, policy.hard_cap) if everything else len(place.page.chars)
    kept = [shape.as_row(row) for row in place.page.whole(count)]
    records = [record for record, _ in kept]
    left_out = list(dict.fromkeys(path for _, paths in kept for path in paths))
    shape = proposals.able_to_answer(shape, names, records)
    field_selection.check([name for name in names if name not in left_out], records, shape)
    rows = [field_selection.selected(record, names, shape) for record in records]
    found = withheld_in_rows(rows)
    named = [*(left_out if everything else shape.asked_of(left_out, names)), *withheld.paths(found)]
    advice = withheld.advice(names, found)
    return _Form(
        rows=rows,
        meta={"kind": "full", **withheld.note(named), **({"notes": advice} if advice else {})},
        budget=policy.hard_cap if everything else place.budget,
    )


def _worth_reading(chars: Sequence[int], tokens_in_all: int) -> int:
    """How many rows are worth reading for an answer of so many tokens: a row more than could fit."""
    room = tokens_in_all * 4
    for count, size in enumerate(chars, start=1):
        room -= size
        if room <= 0:
            return count
    return len(chars)


def _condensed(place: _Place, shape: Shape, ask: Ask, policy: Policy) -> _Form:
    chosen = field_selection.names_in(policy.summary_fields)
    rows = _chosen(place, chosen, shape) if chosen else place.page.condensed()
    details = ask.again(fields=field_selection.ALL)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ask.record_operation and ask.record_key[1] in names:
        details["each"] = ask.open_row(f"{{{ask.record_key[1]}}}")
    meta = {
        "kind": "preview",
        "projectedFields": names,
        "totalFields": place.page.field_count,
        "detailsAvailable": details,
    }
    return _Form(rows, meta, place.budget, hoisted=shape.hoists, summarized=True)


def _chosen(place: _Place, names: Sequence[str], shape: Shape) -> list[dict[str, Any]]:
    """Rows as ops want them condensed, read from the whole ones."""
    whole = place.page.whole(len(place.page.chars))
    records = [shape.as_row(row)[0] for row in whole]
    shape = proposals.completed(shape, records)
    return [summaries.chosen(record, names, shape) for record in records]


# -- How many rows of it ----------------------------------------------------------------------------


class _Pager:
    """Writes a page in a form, with a number of its rows."""

    def __init__(self, place: _Place, ask: Ask, policy: Policy, walks: Walks) -> None:
        self.place, self.ask, self.policy, self.walks = place, ask, policy, walks
        self.page = place.page

    def richest(self, forms: Sequence[_Form]) -> Envelope:
        for form in forms:
            body = self.body(form, len(form.rows))
            if self.acceptable(body, form):
                return self.envelope(form, len(form.rows), body, oversized=form is not forms[0] and form.table)
        return self.shrunk(forms[-1], body)

    def shrunk(self, form: _Form, body: Body) -> Envelope:
        """The most rows that fit. A row that does not fit even alone is sent as its preview."""
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

    def acceptable(self, body: Body, form: _Form) -> bool:
        to_threshold = form.budget <= self.policy.token_budget_threshold
        return body.fits(self.policy) and (
            body.within_threshold(self.policy) if to_threshold else body.estimated_tokens <= form.budget
        )

    def share(self, body: Body, form: _Form) -> float:
        """What part of the rows is likely to fit: a little less than the sizes say. In coarse steps, as hints differ by
        a few characters from transport to transport, and the pages must not (law 4)."""
        ruled = body.claude_tokens if self.policy.ruler is Ruler.CLAUDE else body.estimated_tokens
        mantissa, exponent = math.frexp(0.98 / max(ruled / form.budget, body.fill(self.policy)))
        return math.ldexp(int(mantissa * SHARES) / SHARES, exponent)

    def first_row_preview(self, form: _Form) -> _Form:
        """The first row alone, condensed, with the call that opens it."""
        row = dict(self.page.condensed()[0])
        key = row.get(self.ask.record_key[1]) if self.ask.record_operation else None
        is_there = self.ask.record_is_row or not self.ask.result_operation
        if key is not None and is_there and self.place.manner.condensable:  # groups are no records
            row["detailsAvailable"] = self.ask.open_row(key)
        elif self.ask.result_operation and self.walk.is_kept:
            arguments = {"handle": self.walk.id, "rows": str(self.page.positions[0] - 1), "fields": field_selection.ALL}
            row["detailsAvailable"] = self.ask.hints(self.ask.result_operation, arguments)
        return replace(form, rows=[row], meta={**form.meta, "kind": "preview"}, table=False, summarized=True)

    def first_row_named(self, form: _Form) -> _Form:
        """Of the first row its id alone: even its preview, or the names in `meta`, are too long to be sent."""
        row = {"id": summaries.clipped(self.page.condensed()[0].get("id"), "id")}
        return replace(form, rows=[row], meta={"kind": "preview"}, table=False, summarized=True)

    def body(self, form: _Form, count: int) -> Body:
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
            del meta["kind"]  # everything is here, for a caller who pages not: items and budget, nothing else
        gives_handle = self.ask.result_operation and self.place.walk is None and (more or form.summarized)
        if gives_handle and self.walk.is_kept:
            meta["resultHandle"] = self.walk.id
        if more and not self.walk.is_kept:
            meta = noting_loss(meta)
        document: dict[str, Any] = {"meta": meta}
        if more and self.walk.is_kept:
            document["nextCursor"] = self.walks.cursor(self.walk, self.page.positions[count - 1])
        if form.hoisted and not form.table and count >= HOISTED_ROWS:
            rows = _hoisted(rows, meta, stays=self.ask.record_key[1])
        document.update({TABLE: table(rows)} if form.table else {self.place.manner.key: rows})
        return render(document, self.policy)

    def own_rows(self, count: int) -> dict[str, Any]:
        """Of a page further on: the rows that it shows. The walk's first page opens all of them."""
        if self.place.walk is None or not self.ask.result_operation or "rows" not in self.walk.plan["source"]:
            return {}
        return {"rows": f"{self.page.positions[0] - 1}-{self.page.positions[count - 1] - 1}"}

    @cached_property
    def beside(self) -> dict[str, Any]:
        """What upstream sent with the rows: itself where it is short, else the call that opens it."""
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
        """Empty for a caller who pages not and gets everything (ruling 2)."""
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
        """The walk; a new one is stored at the first need, so that a list of one page costs none."""
        if self.place.walk is not None:
            return self.place.walk
        opening = self.place.opening
        plan = {"total": opening.total, "source": opening.plan, "form": self.place.form}
        return self.walks.begin(Snapshot(self.ask.origin, plan, opening.blocks()))

    def original_tokens(self, count: int) -> int:
        """What these rows would have taken as upstream sends them, commas included."""
        return tokens.formula_of_length(sum(self.page.chars[:count]) + count)

    def envelope(self, form: _Form, count: int, body: Body, *, oversized: bool) -> Envelope:
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


def _hoisted(rows: Sequence[Mapping[str, Any]], meta: dict[str, Any], stays: str) -> Sequence[Mapping[str, Any]]:
    """The rows without what all of them have in common, which `meta` then says; what opens a row stays in it."""
    same = {name: value for name, value in constants(rows).items() if name != stays}
    if not same:
        return rows
    meta["constants"] = same
    return [{name: value for name, value in row.items() if name not in same} for row in rows]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
