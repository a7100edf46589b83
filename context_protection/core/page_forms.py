"""Chooses the form of a page of a list: whole or condensed rows, as items or as a table.

All pages of a snapshot have the same form, even if a single page would fit in another one. If rows are condensed, the
first page names the call that returns whole rows.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any

import orjson

from context_protection.core import canonical, field_selection, masks, tokens
from context_protection.core.budget import (
    CHARS_A_TOKEN,
    dumps,
    dumps_each,
    length,
    lengths,
    most_chars,
    sampled_tokens,
    surely_within,
)
from context_protection.core.inference import proposals
from context_protection.core.masks import withheld_in_body, withheld_in_rows
from context_protection.core.payloads import AnswerRequest, Page, Rows
from context_protection.core.policy import ListFormat, Policy, RulerName
from context_protection.core.shapes import Shape
from context_protection.core.tables import table

FIRST_ROWS = 50  # rows that are condensed first; if they fit, as many again, and so on
# Characters of an answer besides its rows and the names of their fields: a usual `meta` and a cursor. At most a quarter
# of the answer is left for them; if they need more, fewer rows are sent.
BESIDE_ROWS = 640
BESIDE_TOKENS = 300  # the same in Claude's tokens
LIKELY_TO_FIT = 0.98  # the share of what is allowed that rows may use by a sampled count
ITEMS, TABLE = "items", "table"
FORMATS = (ITEMS, TABLE)  # a caller may choose one


# -- Layouts ----------------------------------------------------------------------------------------

# Puts rows into the answer: takes the rows and the name for a list of items, returns members of the document.
Layout = Callable[[Sequence[Mapping[str, Any]], str], dict[str, Any]]


def as_items(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    return {name: rows}


def as_table(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    return {TABLE: table(rows)}


# -- Forms ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageForm:
    """The first rows of a page in the form in which they are sent. `budget`: the most tokens that the page may take.
    `known`: each row as JSON, if the rows have been written."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    budget: int
    layout: Layout = as_items
    summarized: bool = False
    known: Sequence[bytes] | None = None

    @property
    def written(self) -> Sequence[bytes]:
        """Each row as JSON."""
        return dumps_each(self.rows) if self.known is None else self.known

    def with_only(self, row: Mapping[str, Any], meta: Mapping[str, Any]) -> "PageForm":
        """The form of a page with this row alone, in place of all others."""
        return replace(self, rows=[row], known=None, meta=meta, layout=as_items, summarized=True)

    def members(self, count: int, name: str) -> dict[str, Any]:
        """The members of the document for the first `count` rows. `name`: of a list of items."""
        if self.known is None or self.layout is not as_items:
            return self.layout(self.rows[:count], name)
        return {name: orjson.Fragment(b"[%b]" % b",".join(self.known[:count]))}

    def shortened(self, policy: Policy) -> "PageForm":
        """With only as many rows as likely fit. Depends on the rows alone: hints differ between transports, but pages
        must not (law 4)."""
        form = replace(self, known=self.written)
        count = form._likely_count(policy) if self.rows and self.layout is as_items else len(self.rows)
        return replace(form, rows=form.rows[:count], known=form.written[:count])

    def _likely_count(self, policy: Policy) -> int:
        count = len(self.rows)
        ends, room = self._ends(count), _room(self.budget, policy)
        if ends[-1] > room:
            beside = BESIDE_ROWS + length(dumps(self.meta.get("projectedFields", ())))
            count = max(1, bisect_right(ends, room - min(beside, room // 4)))
        rows, most = self.written[:count], _most_tokens(self.budget, policy)
        if surely_within(b",".join(rows), most):
            return count
        return self.fitting_count(count, sampled_tokens(rows) / most)

    def fitting_count(self, count: int, used: float) -> int:
        """How many rows likely fit if the first `count` use `used` times what is allowed. Counts each row's own length,
        so that a row much larger than the others does not shorten the pages before it."""
        ends = self._ends(count)
        return max(1, bisect_right(ends, ends[-1] * LIKELY_TO_FIT / used))

    def _ends(self, count: int) -> list[int]:
        """The characters that the first rows take, up to each of the first `count`."""
        return list(accumulate(map((1).__add__, lengths(self.written[:count]))))


@dataclass(frozen=True, slots=True)
class FormRequest:
    """A page, and what decides its form.

    `budget`: the tokens that the page may take unless the caller requests whole rows, which only the hard cap limits.
    `fields`, `format`: the caller's choices. `is_condensed`: the rows are condensed unless the caller chose fields;
    this is decided once for all pages.
    `is_first`: the page begins the list, so that its `meta` describes the form of all pages."""

    page: Page
    budget: int
    fields: str | None
    format: str | None
    is_condensed: bool
    is_first: bool = True


def page_form(form_request: FormRequest, shape: Shape, request: AnswerRequest, policy: Policy) -> PageForm:
    if form_request.fields is not None:
        form = _projected(form_request, field_selection.split(form_request.fields), shape, policy)
    elif form_request.is_condensed:
        form = _condensed(form_request, shape, request, policy)
    else:
        form = _whole(form_request, shape, request, policy)
    layout = _layout(form.rows, _chosen_format(form_request, policy))
    return form if layout is form.layout else replace(form, layout=layout)


def may_condense(rows: Rows, request: AnswerRequest, policy: Policy) -> bool:
    """Whether the rows of this list may be condensed without a request for it."""
    return policy.summarization and not request.cannot_be_detailed and rows.options.condensable


def _chosen_format(form_request: FormRequest, policy: Policy) -> str:
    return form_request.format or policy.default_list_format


def _layout(rows: Sequence[Mapping[str, Any]], chosen: str) -> Layout:
    if chosen == ListFormat.AUTO:
        return as_table if len(dumps(table(rows))) < len(dumps(rows)) else as_items
    return as_table if chosen == TABLE else as_items


def _whole(form_request: FormRequest, shape: Shape, request: AnswerRequest, policy: Policy) -> PageForm:
    """Whole rows, although the caller did not request them. They must fit the page's budget, not only the hard cap,
    unless the rows cannot be condensed."""
    form = _projected(form_request, [field_selection.ALL], shape, policy)
    can_be_condensed = policy.summarization and not request.cannot_be_detailed
    return replace(form, budget=form_request.budget) if can_be_condensed else form


def _projected(form_request: FormRequest, names: Sequence[str], shape: Shape, policy: Policy) -> PageForm:
    """Whole rows or their requested fields, without the fields that the shape hides in lists."""
    page, everything = form_request.page, field_selection.wants_everything(names, shape)
    count = len(page.positions)
    if everything:
        count = _rows_to_read(page.chars(count), policy.hard_cap * CHARS_A_TOKEN)
    records, omitted = _without_hidden_fields(page.whole(count), shape)
    shape = proposals.with_requested_sections(shape, names, records)
    shown = [name for name in names if name not in omitted]
    names = [*field_selection.resolved(shown, records, shape), *(name for name in names if name in omitted)]
    rows, empty = field_selection.selected_rows(records, names, shape)
    written = dumps_each(rows)
    found = withheld_in_body(b"".join(written), rows)
    named = [*(omitted if everything else shape.requested_of(omitted, names)), *masks.paths(found)]
    advice = masks.advice(names, found)
    return PageForm(
        rows=rows,
        meta={
            "kind": "full",
            **canonical.note(empty),
            **masks.note(named),
            **({"notes": advice} if advice else {}),
        },
        budget=policy.hard_cap if everything else form_request.budget,
        known=written,
    )


def _without_hidden_fields(rows: Sequence[dict[str, Any]], shape: Shape) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, and the paths of what was left out of them."""
    if not shape.withheld_in_lists:
        return list(rows), []
    stripped = [shape.as_row(row) for row in rows]
    return [row for row, _ in stripped], list(dict.fromkeys(path for _, paths in stripped for path in paths))


def _rows_to_read(chars: Sequence[int], most: int) -> int:
    """How many rows of these lengths to read for an answer of `most` characters: at most one more than can fit."""
    return min(bisect_left(list(accumulate(chars)), most) + 1, len(chars))


def _room(budget: int, policy: Policy) -> int:
    """The most characters of an answer within this budget."""
    most = most_chars(policy)
    return most if _is_counted(budget, policy) else min(tokens.chars_within(budget), most)


def _most_tokens(budget: int, policy: Policy) -> float:
    """The most of Claude's tokens that the rows of an answer within this budget may use."""
    most = policy.hard_cap / tokens.MARGIN
    return min(budget - min(BESIDE_TOKENS, budget // 4), most) if _is_counted(budget, policy) else most


def _is_counted(budget: int, policy: Policy) -> bool:
    """Whether the budget is one of Claude's tokens."""
    return policy.ruler is RulerName.CLAUDE and budget <= policy.token_budget_threshold


def _condensed(form_request: FormRequest, shape: Shape, request: AnswerRequest, policy: Policy) -> PageForm:
    rows, written = _condensed_rows(form_request, shape, policy)
    meta: dict[str, Any] = {"kind": "preview"}
    if form_request.is_first:
        meta |= _description(rows, form_request.page, request)
    if policy.withheld:
        meta |= masks.note(masks.paths(withheld_in_rows(rows)))
    return PageForm(rows, meta, form_request.budget, summarized=True, known=written)


def _condensed_rows(
    form_request: FormRequest, shape: Shape, policy: Policy
) -> tuple[Sequence[Mapping[str, Any]], Sequence[bytes] | None]:
    """The page's rows, or at least one more than fits. Also their JSON, if they are read in portions: rows that are
    few, inferred, or put into a table are read at once."""
    page, total = form_request.page, len(form_request.page.positions)
    are_inferred = bool(policy.summary_fields) or not shape.canonical
    if total <= FIRST_ROWS or are_inferred or _chosen_format(form_request, policy) != ITEMS:
        return page.condensed(policy), None
    room = _room(form_request.budget, policy)
    rows: list[Mapping[str, Any]] = []
    written: list[bytes] = []
    while len(rows) < total and sum(lengths(written)) <= room:
        more = page.condensed(policy, len(rows), max(FIRST_ROWS, 2 * len(rows)))
        rows += more
        written += dumps_each(more)
    return rows, written


def _description(rows: Sequence[Mapping[str, Any]], page: Page, request: AnswerRequest) -> dict[str, Any]:
    """The members of `meta` for condensed rows: their fields, and the call that returns whole rows."""
    details = request.hint(fields=field_selection.ALL)
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if request.record_operation and request.record_key[1] in names:
        details["each"] = request.row_hint(f"{{{request.record_key[1]}}}")
    return {"projectedFields": names, "totalFields": page.field_count, "detailsAvailable": details}
