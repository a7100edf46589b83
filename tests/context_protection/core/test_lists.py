"""One page of a list, in the richest form that its budget allows (FR-001 to FR-006, rulings 2, 7 and 14)."""

import json
from typing import Any

import pytest

from context_protection.core import tokens
from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Policy, Ruler
from tests import crawler
from tests.properties.desk import Desk

PAGING = {"totalCount", "pageSize", "hasMore"}


def numbered(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"row {n}", **more} for n in range(count)]


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (50, [50]), (51, [50, 1]), (100, [50, 50])])
def test_an_exact_multiple_has_no_empty_last_page(count: int, sizes: list[int]):
    pages = list(crawler.pages(Desk(numbered(count)), "list", {"limit": 50}))
    assert [len(page["items"]) for page in pages] == sizes
    assert [page["meta"]["hasMore"] for page in pages] == [True] * (len(sizes) - 1) + [False]
    assert {page["meta"]["totalCount"] for page in pages} == {count}


def test_who_pages_not_and_gets_everything_sees_nothing_of_paging():
    answer = Desk(numbered(10))("list", {})
    assert set(answer) == {"items", "meta"}
    assert set(answer["meta"]) == {"estimatedTokens", "budgetUsed", "budgetRemaining"}


def test_ops_can_have_paging_metadata_on_small_lists_too():
    answer = Desk(numbered(10), policy=Policy(meta_on_small_lists=True))("list", {})
    assert PAGING | {"kind"} <= set(answer["meta"])
    assert answer["meta"]["hasMore"] is False


@pytest.mark.parametrize("limit", [0, -1, 201, 10**9])
def test_a_limit_out_of_range_is_refused_and_never_cut(limit: int):
    with pytest.raises(InvalidArgument) as refused:
        Desk(numbered(300))("list", {"limit": limit})
    assert refused.value.reason == "invalid_limit"
    assert refused.value.value == limit


def test_the_highest_limit_is_the_policys():
    desk = Desk(numbered(300), policy=Policy(max_page_size=250))
    assert desk("list", {"limit": 250})["meta"]["pageSize"] == 250
    with pytest.raises(InvalidArgument, match="exceeds maximum of 250"):
        desk("list", {"limit": 251})


def test_a_limit_over_a_maximum_that_was_lowered_since_is_the_new_maximum():
    desk = Desk(numbered(300))
    cursor = desk("list", {"limit": 100})["nextCursor"]
    desk.policy = Policy(max_page_size=60)
    assert len(desk("list", {"cursor": cursor})["items"]) == 60


def test_form_and_fields_hold_for_the_whole_walk():
    desk = Desk(numbered(30, extra=1))
    for page in crawler.pages(desk, "list", {"limit": 10, "fields": "id", "format": "table"}):
        assert page["table"]["columns"] == ["id"]
    first = desk("list", {"limit": 10, "fields": "id", "format": "table"})
    second = desk("list", {"cursor": first["nextCursor"]})
    assert second["table"]["columns"] == ["id"]
    assert len(second["table"]["rows"]) == 10


def test_another_form_can_be_asked_for_with_a_cursor():
    desk = Desk(numbered(30, extra=1))
    cursor = desk("list", {"limit": 10, "fields": "id", "format": "table"})["nextCursor"]
    page = desk("list", {"cursor": cursor, "limit": 5, "fields": "id,extra", "format": "items"})
    assert page["items"] == [{"id": n, "extra": 1} for n in range(10, 15)]


def test_of_rows_whose_previews_are_too_long_the_ids_are_sent():
    giants = [{"id": n, **{f"name{each}": "So it was told. " * 400 for each in range(15)}} for n in range(3)]
    desk = Desk(giants, policy=Policy(hard_cap=1000, token_budget_threshold=1000))
    assert crawler.walk(desk, "list", {}) == [{"id": 0}, {"id": 1}, {"id": 2}]
    desk.assert_never_over_the_cap()


def test_a_page_that_shrank_goes_on_with_its_very_next_row():
    desk = Desk([{**row, "text": f"{row['id']} " * 30} for row in numbered(200)])
    for arguments in ({"fields": "all", "limit": 200}, {"limit": 200, "format": "items"}, {"limit": 200}):
        pages = list(crawler.pages(desk, "list", arguments))
        assert len(pages) > 1
        assert [row["id"] for page in pages for row in crawler.rows(page)] == list(range(200))
        for page in pages[:-1]:
            assert page["meta"]["pageSize"] == len(crawler.rows(page)) < 200


def test_with_paging_off_a_list_comes_whole_as_far_as_the_cap_holds():
    desk = Desk(numbered(150), policy=Policy(pagination=False, default_page_size=10))
    answer = desk("list", {})
    assert len(crawler.rows(answer)) == 150
    assert "nextCursor" not in answer


def test_with_summaries_off_rows_come_whole():
    rows = numbered(40, note="A long note. " * 30, nested={"deep": [1, 2]})
    desk = Desk(rows, policy=Policy(summarization=False))
    got = crawler.walk(desk, "list", {})
    assert got == rows
    assert all(crawler.ours(page).get("kind", "full") == "full" for page in crawler.pages(desk, "list", {}))


def test_what_all_rows_of_an_unknown_type_have_in_common_is_said_once():
    rows = [
        {**row, "kind": "room", "tags": ["a", {"b": 1}], "free": row["id"] % 2 == 0}
        for row in numbered(5, note="N. " * 900)
    ]
    answer = Desk(rows)("list", {"format": "items"})
    assert answer["meta"]["constants"]["kind"] == "room"
    assert "kind" in answer["meta"]["projectedFields"]
    assert [row["id"] for row in answer["items"]] == [row["id"] for row in rows]
    assert all("kind" not in row and "free" in row for row in answer["items"])
    whole = Desk(rows)("list", {"format": "items", "fields": "id,kind"})
    assert whole["items"] == [{"id": row["id"], "kind": "room"} for row in rows]


def test_two_rows_have_nothing_in_common_that_would_be_worth_a_place_of_its_own():
    answer = Desk(numbered(2, kind="room", note="N. " * 3000))("list", {"format": "items"})
    assert "constants" not in answer["meta"]
    assert [row["kind"] for row in answer["items"]] == ["room", "room"]


def test_the_ruler_that_ops_choose_decides():
    """Japanese takes more of Claude's tokens than the formula says."""
    rows = [{**row, "note": f"静かな部屋です。海が見えます。{row['id']}"} for row in numbered(50)]
    sizes = {}
    for ruler in Ruler:
        desk = Desk(rows, policy=Policy(token_budget_threshold=700, ruler=ruler))
        sizes[ruler] = len(desk("list", {"format": "items"})["items"])
    assert sizes[Ruler.CLAUDE] < sizes[Ruler.FORMULA] < 50
    assert desk.envelopes[0].claude_tokens <= 700


def test_a_row_that_alone_is_over_the_cap_is_a_preview_that_leads_to_all_of_it():
    giant = {"id": 1, "name": "giant", "story": "It was a dark and stormy night. " * 4000}
    desk = Desk([{"id": 0, "name": "small"}, giant, {"id": 2, "name": "small"}])
    got = crawler.walk(desk, "list", {"fields": "all"})
    assert [row["id"] for row in got] == [0, 1, 2]
    operation, arguments = crawler.details(got[1]["detailsAvailable"])
    assert crawler.from_parts(desk, operation, arguments) == giant
    desk.assert_never_over_the_cap()


def test_the_preview_of_a_row_over_the_cap_has_the_fields_that_ops_chose():
    giant = {"id": 1, "name": "giant", "city": "Graz", "story": "It was a dark and stormy night. " * 4000}
    desk = Desk([giant], policy=Policy(summary_fields="city"))
    (row,) = crawler.rows(desk("list", {"fields": "all"}))
    assert set(row) == {"id", "name", "city", "detailsAvailable"}


def test_a_group_over_the_cap_does_not_lose_its_figures_to_the_fields_that_ops_chose():
    rows = [{"id": n, "story": "It was a dark and stormy night. " * 4000} for n in range(2)]
    asked = {"aggregate": {"groupBy": ["story"], "metrics": [{"op": "count"}]}, "format": "items"}
    answer = Desk(rows, policy=Policy(summary_fields="city"))("list", asked)
    assert answer["groups"] == [{"count": 2}]


def test_whole_rows_that_were_asked_for_fill_the_cap():
    desk = Desk(numbered(200, note="A note that is not very long, nor short. " * 8))
    answer = desk("list", {"fields": "all", "limit": 200, "format": "items"})
    assert answer["nextCursor"]
    assert desk.envelopes[0].claude_tokens > desk.policy.hard_cap * 0.85
    assert answer["meta"]["estimatedTokens"] > desk.policy.token_budget_threshold


def test_rows_that_would_fit_whole_as_a_table_alone_come_condensed():
    rows = numbered(40, **{f"a_rather_long_name_{n}": n for n in range(25)})
    desk = Desk(rows, policy=Policy(token_budget_threshold=3500))
    assert desk("list", {"fields": "all", "format": "table"})["meta"]["estimatedTokens"] < 3500
    answer = desk("list", {})
    assert answer["meta"]["kind"] == "preview"
    assert len(crawler.rows(answer)) == 40


def test_what_upstream_would_have_sent_is_counted_for_the_rows_of_a_page_alone():
    desk = Desk(numbered(200, note="A note that is not very long, nor short. " * 8))
    for page in crawler.pages(desk, "list", {"fields": "all", "limit": 200}):
        counted = desk.envelopes[-1].original_tokens
        assert abs(counted - tokens.formula(json.dumps(crawler.rows(page), separators=(",", ":")))) <= 2


def test_a_condensed_page_says_what_its_rows_would_have_taken():
    rows = numbered(50, note="x" * 500, deep={"a": [1, 2, 3]})
    desk = Desk(rows, policy=Policy(token_budget_threshold=3000))
    meta = desk("list", {})["meta"]
    assert meta["kind"] == "preview"
    assert meta["totalFields"] == 4
    assert meta["originalTokens"] > 50 * 500 // 4
    assert desk.envelopes[0].original_tokens == meta["originalTokens"]
    assert meta["detailsAvailable"]["each"] == {"tool": "get", "arguments": {"id": "{id}", "fields": "all"}}
