"""The forms that a page of a list can take: whole or condensed rows, as items or as a table.

`candidates` is the one place that chooses among them. A form without the whole rows names the call that returns them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context_protection.core import field_selection, tokens, withheld
from context_protection.core.budget import dumps
from context_protection.core.inference import proposals
from context_protection.core.payloads import Ask, Page, Rows
from context_protection.core.policy import Policy
from context_protection.core.shapes import Shape
from context_protection.core.tables import constants, table
from context_protection.core.withheld import withheld_in_rows

ITEMS, TABLE = "items", "table"
FORMATS = (ITEMS, TABLE)  # a caller's choices
HOISTED_ROWS = 3  # from this many rows on, values common to all rows move to meta.constants


# -- Layouts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LayoutNames:
    """The names that a layout needs: the document's member for items, and the row's field that opens a row."""

    items: str
    record_key: str


# Writes rows into members of the document, beside its `meta`, which it may extend.
Layout = Callable[[Sequence[Mapping[str, Any]], dict[str, Any], LayoutNames], dict[str, Any]]


def as_items(rows: Sequence[Mapping[str, Any]], meta: dict[str, Any], names: LayoutNames) -> dict[str, Any]:
    return {names.items: rows}


def as_hoisted_items(rows: Sequence[Mapping[str, Any]], meta: dict[str, Any], names: LayoutNames) -> dict[str, Any]:
    """Values common to all rows move to `meta.constants`. The key to open a row by stays in each row."""
    same = constants(rows) if len(rows) >= HOISTED_ROWS else {}
    same.pop(names.record_key, None)
    if not same:
        return {names.items: rows}
    meta["constants"] = same
    return {names.items: [{name: value for name, value in row.items() if name not in same} for row in rows]}


def as_table(rows: Sequence[Mapping[str, Any]], meta: dict[str, Any], names: LayoutNames) -> dict[str, Any]:
    return {TABLE: table(rows)}


# -- Forms ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageForm:
    """One candidate form of a page. `budget`: the most tokens that its body may take."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    budget: int
    layout: Layout = as_items
    summarized: bool = False


@dataclass(frozen=True, slots=True)
class FormRequest:
    """A page, the tokens that it may take by default, and the caller's choice of fields and format."""

    page: Page
    budget: int
    fields: str | None
    format: str | None


def candidates(request: FormRequest, rows: Rows, ask: Ask, policy: Policy) -> list[PageForm]:
    """The candidate forms of this page, richest first. If none fits, the last one is sent with fewer rows."""
    shape = rows.shape
    if request.fields is not None:
        form = _projected(request, field_selection.split(request.fields), shape, policy)
        return _in_format(form, request, policy)
    if not policy.summarization or ask.cannot_be_detailed:
        return _in_format(_projected(request, [field_selection.ALL], shape, policy), request, policy)
    if not rows.manner.condensable:
        return _in_format(_whole(request, shape, policy), request, policy)
    table_policy = replace(policy, tables_when_smaller=policy.tables_when_smaller or shape.tabular)
    condensed = _in_format(_condensed(request, shape, ask, policy), request, table_policy)
    if tokens.formula_of_length(sum(request.page.chars)) > request.budget:
        return condensed
    return [*_in_format(_whole(request, shape, policy), request, policy)[:1], *condensed]


def _in_format(form: PageForm, request: FormRequest, policy: Policy) -> list[PageForm]:
    """Items, then a table. Only one of them if the caller chose it; only a table if it is smaller and the policy
    prefers smaller tables."""
    chosen = request.format
    in_table = replace(form, layout=as_table)
    if chosen is None and policy.tables_when_smaller and len(dumps(table(form.rows))) < len(dumps(form.rows)):
        chosen = TABLE
    return [in_table] if chosen == TABLE else [form] if chosen == ITEMS else [form, in_table]


def _whole(request: FormRequest, shape: Shape, policy: Policy) -> PageForm:
    """Whole rows by default, not by request: they must fit the page's own budget, not just the hard cap."""
    return replace(_projected(request, [field_selection.ALL], shape, policy), budget=request.budget)


def _projected(request: FormRequest, names: Sequence[str], shape: Shape, policy: Policy) -> PageForm:
    """Whole rows or their requested fields, without the fields that the shape hides in lists."""
    page, everything = request.page, field_selection.ALL in names
    count = _rows_to_read(page.chars, policy.hard_cap) if everything else len(page.chars)
    stripped = [shape.as_row(row) for row in page.whole(count)]
    records = [record for record, _ in stripped]
    omitted = list(dict.fromkeys(path for _, paths in stripped for path in paths))
    shape = proposals.able_to_answer(shape, names, records)
    field_selection.check([name for name in names if name not in omitted], records, shape)
    rows = [field_selection.selected(record, names, shape) for record in records]
    found = withheld_in_rows(rows)
    named = [*(omitted if everything else shape.asked_of(omitted, names)), *withheld.paths(found)]
    advice = withheld.advice(names, found)
    return PageForm(
        rows=rows,
        meta={"kind": "full", **withheld.note(named), **({"notes": advice} if advice else {})},
        budget=policy.hard_cap if everything else request.budget,
    )


def _rows_to_read(chars: Sequence[int], most_tokens: int) -> int:
    """How many rows to read for an answer of `most_tokens` tokens: one row more than could fit."""
    room = most_tokens * 4
    for count, size in enumerate(chars, start=1):
        room -= size
        if room <= 0:
            return count
    return len(chars)


def _condensed(request: FormRequest, shape: Shape, ask: Ask, policy: Policy) -> PageForm:
    rows = request.page.condensed(policy)
    details = ask.again(fields=field_selection.ALL)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ask.record_operation and ask.record_key[1] in names:
        details["each"] = ask.open_row(f"{{{ask.record_key[1]}}}")
    meta = {
        "kind": "preview",
        "projectedFields": names,
        "totalFields": request.page.field_count,
        "detailsAvailable": details,
    }
    layout = as_hoisted_items if shape.hoists else as_items
    return PageForm(rows, meta, request.budget, layout, summarized=True)
