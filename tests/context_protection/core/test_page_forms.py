"""The layouts of a page, and which of them a page may take (ruling 14)."""

from typing import Any

import pytest

from context_protection.core import tables
from context_protection.core.page_forms import (
    FORMATS,
    FormRequest,
    Layout,
    PageForm,
    as_items,
    as_table,
    page_form,
)
from context_protection.core.payloads import AnswerRequest
from context_protection.core.policy import ListFormat, Policy
from context_protection.core.rows import MemoryRows

ROWS = [{"id": n, "city": "Graz", "note": "A quay. " * 40} for n in range(20)]
ASK = AnswerRequest("list", "me", lambda name, more: {"tool": name, "arguments": dict(more)})


def form(policy: Policy | None = None, *, is_condensed: bool = True, is_first: bool = True, **choice: str) -> PageForm:
    rows = MemoryRows(ROWS)
    page = rows.page(rows.open().plan, None, None, 50)
    request = FormRequest(page, 500, choice.get("fields"), choice.get("format"), is_condensed, is_first)
    return page_form(request, rows.shape, ASK, policy or Policy())


@pytest.mark.parametrize("layout", [as_items, as_table])
def test_a_layout_loses_nothing(layout: Layout):
    document: dict[str, Any] = layout(ROWS, "items")
    assert (document["items"] if layout is as_items else tables.rows(document["table"])) == ROWS


def test_a_condensed_page_is_described_if_it_is_the_first():
    first = form()
    assert (first.layout, first.summarized) == (as_items, True)
    assert first.meta["detailsAvailable"] == {"tool": "list", "arguments": {"fields": "all"}}
    assert form(is_first=False).meta == {"kind": "preview"}


def test_rows_that_are_not_condensed_come_whole():
    whole = form(is_condensed=False)
    assert whole.rows == ROWS
    assert not whole.summarized


def test_the_fields_that_a_caller_names_are_not_condensed():
    chosen = form(fields="id,note")
    assert (chosen.layout, chosen.summarized) == (as_items, False)
    assert chosen.rows == [{"id": row["id"], "note": row["note"]} for row in ROWS]


@pytest.mark.parametrize("chosen", FORMATS)
@pytest.mark.parametrize("policy", [Policy(list_format=each) for each in ListFormat], ids=list(ListFormat))
def test_the_format_that_a_caller_chose_is_given(chosen: str, policy: Policy):
    assert (form(policy, format=chosen).layout is as_table) == (chosen == "table")


def test_ops_can_have_a_table_wherever_that_is_smaller():
    policy = Policy(list_format=ListFormat.AUTO)
    assert form(policy, fields="id,city").layout is as_table
