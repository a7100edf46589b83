"""The layouts of a page, and which of them a page may take (ruling 14)."""

from typing import Any

import pytest

from context_protection.core import tables
from context_protection.core.page_forms import (
    FORMATS,
    FormRequest,
    Layout,
    LayoutNames,
    PageForm,
    as_hoisted_items,
    as_items,
    as_table,
    candidates,
)
from context_protection.core.payloads import Ask
from context_protection.core.policy import Policy
from context_protection.core.rows import MemoryRows

NAMES = LayoutNames("items", "id")
ROWS = [{"id": n, "city": "Graz", "note": "A quay. " * 40} for n in range(20)]
ASK = Ask("list", "me", lambda name, more: {"tool": name, "arguments": dict(more)})


def forms(policy: Policy | None = None, **choice: str) -> list[PageForm]:
    rows = MemoryRows(ROWS)
    page = rows.page(rows.open().plan, None, None, 50)
    request = FormRequest(page, 500, choice.get("fields"), choice.get("format"))
    return candidates(request, rows, ASK, policy or Policy())


def layouts(found: list[PageForm]) -> list[Layout]:
    return [form.layout for form in found]


@pytest.mark.parametrize("layout", [as_items, as_hoisted_items, as_table])
def test_a_layout_loses_nothing(layout: Layout):
    meta: dict[str, Any] = {}
    document = layout(ROWS, meta, NAMES)
    if layout is as_table:
        assert tables.rows(document["table"]) == ROWS
    else:
        assert [{**meta.get("constants", {}), **row} for row in document["items"]] == ROWS


def test_values_that_all_rows_share_are_said_once_and_the_key_stays():
    rows = [{"id": 1, "city": "Graz"}] * 3
    meta: dict[str, Any] = {}
    assert as_hoisted_items(rows, meta, NAMES) == {"items": [{"id": 1}] * 3}
    assert meta == {"constants": {"city": "Graz"}}


def test_two_rows_share_nothing_that_is_worth_a_place_of_its_own():
    meta: dict[str, Any] = {}
    assert as_hoisted_items(ROWS[:2], meta, NAMES) == {"items": ROWS[:2]}
    assert meta == {}


def test_rows_over_their_budget_are_condensed_and_then_a_table():
    found = forms()
    assert layouts(found) == [as_hoisted_items, as_table]
    assert all(form.summarized for form in found)
    assert found[0].meta["detailsAvailable"] == {"tool": "list", "arguments": {"fields": "all"}}


def test_the_fields_that_a_caller_names_are_not_condensed():
    found = forms(fields="id,note")
    assert layouts(found) == [as_items, as_table]
    assert not any(form.summarized for form in found)
    assert found[0].rows == [{"id": row["id"], "note": row["note"]} for row in ROWS]


@pytest.mark.parametrize("chosen", FORMATS)
def test_a_format_that_a_caller_chose_is_the_only_one(chosen: str):
    (form,) = forms(format=chosen)
    assert (form.layout is as_table) == (chosen == "table")


def test_ops_can_have_a_table_wherever_that_is_smaller():
    assert layouts(forms(Policy(tables_when_smaller=True))) == [as_table]
