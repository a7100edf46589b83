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
MOST_PAGES = 10  # in one answer
_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)
SHARES = 64  # a share of the rows is rounded down to one of so many steps per power of two
HOISTED_ROWS = 3  # from this many rows on, values common to all rows move to meta.constants
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
    return _Pager(place, ask, policy, walks).richest(_forms(place, rows, ask, policy))


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


# -- Choosing the form ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """One candidate form of the page. `budget`: the most tokens that its body may take."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    budget: int
    table: bool = False
    hoisted: bool = False  # values common to all rows move to meta.constants
    summarized: bool = False


def _forms(place: _Place, rows: Rows, ask: Ask, policy: Policy) -> list[_Form]:
    """The candidate forms of this page, richest first. If none fits, the last one is sent with fewer rows."""
    shape, fields = rows.shape, place.form["fields"]
    if fields is not None:
        form = _projected(place, field_selection.split(fields), shape, policy)
        return _in_format(form, place, policy)
    if not policy.summarization or ask.cannot_be_detailed:
        return _in_format(_projected(place, [field_selection.ALL], shape, policy), place, policy)
    if not rows.manner.condensable:
        return _in_format(_whole(place, shape, policy), place, policy)
    table_policy = replace(policy, tables_when_smaller=policy.tables_when_smaller or shape.tabular)
    condensed = _in_format(_condensed(place, shape, ask, policy), place, table_policy)
    if tokens.formula_of_length(sum(place.page.chars)) > place.budget:
        return condensed
    return [*_in_format(_whole(place, shape, policy), place, policy)[:1], *condensed]


def _in_format(form: _Form, place: _Place, policy: Policy) -> list[_Form]:
    """Items, then a table. Only one of them if the caller chose it; only a table if it is smaller and the policy
    prefers smaller tables."""
    chosen = place.form["format"]
    as_table = replace(form, table=True)
    if chosen is None and policy.tables_when_smaller and len(dumps(table(form.rows))) < len(dumps(form.rows)):
        chosen = TABLE
    return [as_table] if chosen == TABLE else [form] if chosen == ITEMS else [form, as_table]


def _whole(place: _Place, shape: Shape, policy: Policy) -> _Form:
    """Whole rows by default, not by request: they must fit the page's own budget, not just the hard cap."""
    return replace(_projected(place, [field_selection.ALL], shape, policy), budget=place.budget)


def _projected(place: _Place, names: Sequence[str], shape: Shape, policy: Policy) -> _Form:
    """Whole rows or their requested fields, without the fields that the shape hides in lists."""
    everything = field_selection.ALL in names
    count = _rows_to_read(place.page.chars, policy.hard_cap) if everything else len(place.page.chars)
    stripped = [shape.as_row(row) for row in place.page.whole(count)]
    records = [record for record, _ in stripped]
    omitted = list(dict.fromkeys(path for _, paths in stripped for path in paths))
    shape = proposals.able_to_answer(shape, names, records)
    field_selection.check([name for name in names if name not in omitted], records, shape)
    rows = [field_selection.selected(record, names, shape) for record in records]
    found = withheld_in_rows(rows)
    named = [*(omitted if everything else shape.asked_of(omitted, names)), *withheld.paths(found)]
    advice = withheld.advice(names, found)
    return _Form(
        rows=rows,
        meta={"kind": "full", **withheld.note(named), **({"notes": advice} if advice else {})},
        budget=policy.hard_cap if everything else place.budget,
    )


def _rows_to_read(chars: Sequence[int], most_tokens: int) -> int:
    """How many rows to read for an answer of `most_tokens` tokens: one row more than could fit."""
    room = most_tokens * 4
    for count, size in enumerate(chars, start=1):
        room -= size
        if room <= 0:
            return count
    return len(chars)


def _condensed(place: _Place, shape: Shape, ask: Ask, policy: Policy) -> _Form:
    rows = place.page.condensed(policy)
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


# -- Choosing the number of rows --------------------------------------------------------------------


class _Pager:
    """Renders a page in a given form, with a given number of its rows."""

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

    def acceptable(self, body: Body, form: _Form) -> bool:
        uses_threshold = form.budget <= self.policy.token_budget_threshold
        return body.fits(self.policy) and (
            body.within_threshold(self.policy) if uses_threshold else body.estimated_tokens <= form.budget
        )

    def share(self, body: Body, form: _Form) -> float:
        """The share of the rows that is likely to fit, a little below what the sizes suggest. It is rounded to coarse
        steps: hints differ by a few characters between transports, but pages must not (law 4)."""
        measured = body.claude_tokens if self.policy.ruler is Ruler.CLAUDE else body.estimated_tokens
        mantissa, exponent = math.frexp(0.98 / max(measured / form.budget, body.fill(self.policy)))
        return math.ldexp(int(mantissa * SHARES) / SHARES, exponent)

    def first_row_preview(self, form: _Form) -> _Form:
        """Only the first row, condensed, with the call that returns it whole."""
        row = dict(self.condensed_first)
        key = row.get(self.ask.record_key[1]) if self.ask.record_operation else None
        prefers_record = self.ask.record_is_row or not self.ask.result_operation
        if key is not None and prefers_record and self.place.manner.condensable:  # groups are not records
            row["detailsAvailable"] = self.ask.open_row(key)
        elif self.ask.result_operation and self.walk.is_kept:
            arguments = {"handle": self.walk.id, "rows": str(self.page.positions[0] - 1), "fields": field_selection.ALL}
            row["detailsAvailable"] = self.ask.hints(self.ask.result_operation, arguments)
        return replace(form, rows=[row], meta={**form.meta, "kind": "preview"}, table=False, summarized=True)

    @cached_property
    def condensed_first(self) -> Mapping[str, Any]:
        """The first row with the fields of its preview. What ops chose does not apply to groups."""
        policy = self.policy if self.place.manner.condensable else replace(self.policy, summary_fields="")
        return self.page.condensed(policy)[0]

    def first_row_named(self, form: _Form) -> _Form:
        """Only the id of the first row, because its preview or the names in `meta` exceed the hard cap."""
        row = {"id": summaries.reduced(self.condensed_first.get("id"), "id", self.policy)}
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
            del meta["kind"]  # a complete list for a caller who does not page: only the rows and the budget figures
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
    """Moves values common to all rows to `meta["constants"]`. The key `stays` remains in each row to open it by."""
    same = {name: value for name, value in constants(rows).items() if name != stays}
    if not same:
        return rows
    meta["constants"] = same
    return [{name: value for name, value in row.items() if name not in same} for row in rows]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
