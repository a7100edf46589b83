"""The layouts of a page, and which of them a page may take (ruling 14)."""

from typing import Any

import orjson
import pytest

from context_protection.core import tables, tokens
from context_protection.core.budget import dumps, sampled_tokens
from context_protection.core.fields import Field
from context_protection.core.page_forms import (
    BESIDE_ROWS,
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
from context_protection.core.shapes import Shape

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


def long_page(note: str, budget: int) -> PageForm:
    """The form of a page of 200 rows."""
    shape = Shape(row=(Field("id"), Field("note")))
    rows = MemoryRows([{"id": n, "note": note} for n in range(200)], shape)
    request = FormRequest(rows.page(rows.open().plan, None, None, 200), budget, None, None, is_condensed=True)
    return page_form(request, shape, ASK, Policy())


def test_rows_that_cannot_fit_are_not_condensed():
    form = long_page("A quay by the river.", 500)
    assert len(form.rows) == 50


def test_a_page_begins_with_the_rows_that_fit_beside_a_usual_meta():
    form = long_page("A quay by the river.", 1000)
    shortened = form.shortened(Policy())
    assert list(map(orjson.loads, shortened.written)) == shortened.rows == form.rows[: len(shortened.rows)]
    room = tokens.chars_within(1000) - BESIDE_ROWS - len('["id","note"]')
    one_more = form.written[: len(shortened.rows) + 1]
    assert sum(map(len, shortened.written)) <= room < sum(map(len, one_more)) + len(one_more)


@pytest.mark.parametrize("budget", [1500, 12000])
def test_a_page_begins_with_fewer_rows_if_they_have_many_tokens(budget: int):
    form = long_page("秦川雄帝宅函谷壯皇居綺殿千尋起離宮百雉餘", budget)
    shortened = form.shortened(Policy(hard_cap=3000))
    assert 1 < len(shortened.rows) < len(form.rows)
    assert 0.8 * 3000 < sampled_tokens(shortened.written) * tokens.MARGIN < 3000


def test_a_page_never_begins_with_more_rows_than_fit_because_they_have_few_tokens():
    form = long_page("秦川雄帝宅函谷壯皇居綺殿千尋起離宮百雉餘", 1500)
    by_length = form.shortened(Policy(hard_cap=100_000)).rows
    assert 0.5 * 6000 < sampled_tokens(form.written[: len(by_length)]) * tokens.MARGIN < 0.98 * 6000
    assert form.shortened(Policy(hard_cap=6000)).rows == by_length


def test_undeclared_fields_are_the_same_in_all_rows():
    rows = MemoryRows([{"id": n, "city": "Graz"} if n < 90 else {"id": n, "price": n} for n in range(200)])
    request = FormRequest(rows.page(rows.open().plan, None, None, 200), 4000, None, None, is_condensed=True)
    form = page_form(request, rows.shape, ASK, Policy())
    assert {tuple(row) for row in form.rows} == {("id", "city")}
    assert len(form.rows) == 200


def test_all_rows_that_fit_are_condensed():
    form = long_page("", 2000)
    assert form.rows == form.shortened(Policy()).rows == [{"id": n, "note": ""} for n in range(200)]


def test_written_rows_are_those_of_the_layout():
    form = long_page("A quay.", 500)
    assert orjson.loads(dumps(form.members(3, "items"))) == as_items(form.rows[:3], "items")


def test_a_quarter_of_a_small_answer_is_left_for_what_is_beside_the_rows():
    form, room = long_page("A quay by the river.", 200), tokens.chars_within(200)
    taken = sum(map(len, form.shortened(Policy()).written))
    assert room / 2 < taken <= room * 3 / 4
