"""One page of a list (FR-001 to FR-006, rulings 2, 7, 14, 37 and 39)."""

import json
from typing import Any

import pytest

from context_protection.core import tokens
from context_protection.core.cursors import Sealer, Snapshots
from context_protection.core.errors import InvalidArgument
from context_protection.core.fields import Field
from context_protection.core.payloads import AnswerRequest, Envelope
from context_protection.core.policy import ListFormat, Policy, RulerName
from context_protection.core.protect import protect
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import Shape
from tests import crawler
from tests.properties.desk import Desk, DictSnapshots

PAGING = {"totalCount", "pageSize", "hasMore"}
BUDGET = {"estimatedTokens", "budgetUsed", "budgetRemaining"}


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
    assert set(answer["meta"]) == BUDGET


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


def test_with_paging_off_a_list_comes_as_upstream_sent_it():
    shape = Shape(row=(Field("id"),), is_canonical=True, withheld_in_lists=("phone",))
    rows = numbered(150, empty=None)
    desk = Desk([{**row, "phone": "+43"} for row in rows], policy=Policy(pagination=False), shape=shape)
    assert desk("list", {}) == {"items": rows}


@pytest.mark.parametrize(
    ("loaded", "meta"),
    [
        (Loaded(numbered(150), {"notes": ["Upstream has more rows."]}), {"notes": ["Upstream has more rows."]}),
        (Loaded(numbered(150), {"stale": True}), {"stale": True}),
        (Loaded(numbered(150), beside={"included": [{"id": 7}]}), {"beside": {"included": [{"id": 7}]}}),
        (Loaded(numbered(150, code="[withheld: door code]")), {"withheld": ["code"]}),
    ],
)
def test_with_paging_off_a_list_still_says_what_it_lacks_and_what_stood_beside_it(loaded: Loaded, meta: dict[str, Any]):
    answer = unpaged(loaded)
    assert answer["items"] == loaded.rows
    assert {name: value for name, value in answer["meta"].items() if name not in BUDGET} == meta


def test_with_paging_off_the_time_of_the_rows_adds_nothing():
    loaded = Loaded(numbered(150), {"asOf": "2026-11-30T01:00:00Z"})
    assert unpaged(loaded) == {"items": loaded.rows}


def unpaged(loaded: Loaded) -> dict[str, Any]:
    request = AnswerRequest(operation="list", caller="me", hints=lambda name, more: {"tool": name})
    snapshots = Snapshots(DictSnapshots(), Sealer(["x" * 40]))
    envelope = protect(MemoryRows(lambda: loaded), request, Policy(pagination=False), snapshots)
    document: dict[str, Any] = json.loads(envelope.body)
    return document


def test_with_paging_off_a_list_over_the_cap_or_with_a_limit_comes_in_pages():
    desk = Desk(numbered(500, note="N. " * 50), policy=Policy(pagination=False, default_page_size=10))
    assert [len(page["items"]) for page in crawler.pages(desk, "list", {})] == [10] * 50
    small = Desk(numbered(15), policy=Policy(pagination=False))
    assert [len(page["items"]) for page in crawler.pages(small, "list", {"limit": 10})] == [10, 5]


def test_with_summaries_off_rows_come_whole():
    rows = numbered(40, note="A long note. " * 30, nested={"deep": [1, 2]})
    desk = Desk(rows, policy=Policy(summarization=False))
    got = crawler.walk(desk, "list", {})
    assert got == rows
    assert all(crawler.ours(page).get("kind", "full") == "full" for page in crawler.pages(desk, "list", {}))


def test_all_pages_of_a_list_of_an_unknown_type_have_the_form_of_the_first():
    """The last page alone would fit whole, and the pages of the other list would be condensed but for the first."""
    large_first = numbered(60, note="N. " * 300)[:50] + numbered(80)[60:]
    kinds = [page["meta"]["kind"] for page in crawler.pages(Desk(large_first), "list", {"limit": 50})]
    assert kinds == ["preview", "preview"]
    small_first = numbered(50) + [{**row, "note": "N. " * 2000} for row in numbered(60)[50:]]
    walk = [*crawler.pages(Desk(small_first), "list", {})]
    assert {page["meta"]["kind"] for page in walk} == {"full"}
    assert [row for page in walk for row in page["items"]] == small_first


def test_a_limit_does_not_change_the_form_of_rows():
    desk = Desk(numbered(50, note="N. " * 2000))
    one, two = (desk("list", {"limit": limit}) for limit in (1, 2))
    assert one["meta"]["kind"] == two["meta"]["kind"] == "preview"
    assert one["meta"]["estimatedTokens"] < two["meta"]["estimatedTokens"]


def test_only_the_first_page_describes_the_form_of_the_rows():
    first, second = crawler.pages(Desk(numbered(60, note="N. " * 300)), "list", {"limit": 50})
    assert {"projectedFields", "totalFields", "originalTokens", "detailsAvailable"} <= set(first["meta"])
    assert not {"projectedFields", "totalFields", "originalTokens", "detailsAvailable"} & set(second["meta"])


@pytest.mark.parametrize(("list_format", "member"), [("items", "items"), ("table", "table"), ("auto", "table")])
def test_ops_choose_the_form_of_lists_and_callers_another_one(list_format: str, member: str):
    desk = Desk(numbered(60), policy=Policy(list_format=ListFormat(list_format)))
    first, second = crawler.pages(desk, "list", {"limit": 50})
    assert {member} <= set(first) & set(second)
    assert "items" in desk("list", {"format": "items"})
    assert "table" in desk("list", {"format": "table"})


def test_rows_of_a_declared_type_are_condensed_even_if_they_would_fit_whole():
    shape = Shape(row=(Field("id"), Field("guest", "guestName")), is_canonical=True)
    rows = [{"id": number, "guestName": "Ann", "note": ""} for number in range(3)]
    assert Desk(rows, shape=shape)("list", {})["items"] == [{"id": number, "guest": "Ann"} for number in range(3)]
    assert Desk(rows, shape=shape)("list", {"fields": "raw"})["items"] == rows


def test_the_ruler_that_ops_choose_decides():
    """Japanese takes more of Claude's tokens than the formula says."""
    rows = [{**row, "note": f"静かな部屋です。海が見えます。{row['id']}"} for row in numbered(50)]
    sizes = {}
    for ruler in RulerName:
        desk = Desk(rows, policy=Policy(token_budget_threshold=700, ruler=ruler))
        sizes[ruler] = len(desk("list", {"format": "items"})["items"])
    assert sizes[RulerName.CLAUDE] < sizes[RulerName.FORMULA] < 50
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


def test_rows_that_do_not_fit_as_items_become_fewer_and_not_a_table():
    desk = Desk(numbered(60, note="N. " * 70), policy=Policy(summarization=False, token_budget_threshold=1000))
    answer = desk("list", {"fields": "id,note"})
    assert len(answer["items"]) < 50
    assert answer["nextCursor"]


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


def test_a_much_larger_row_does_not_shorten_the_page_before_it():
    rows = numbered(40, about="words " * 20)
    rows[18]["about"] = "words " * 3000
    desk = Desk(rows, policy=Policy(token_budget_threshold=2000, hard_cap=4000))
    pages = list(crawler.pages(desk, "list", {"fields": "all"}))
    assert [[row["id"] for row in page["items"]] for page in pages] == [[*range(18)], [18], [*range(19, 40)]]


def test_a_page_of_dense_text_is_cut_without_a_count_of_all_its_rows(monkeypatch: pytest.MonkeyPatch):
    counted: list[int] = []
    count = tokens.claude.count
    monkeypatch.setattr(tokens.claude, "count", lambda text: counted.append(len(text)) or count(text))
    rows = [
        {"id": n, "zh": f"海边的房间 {n}", "ja": "鍵はドアの後ろ", "ko": "문 뒤에 열쇠가 있습니다"} for n in range(200)
    ]
    whole = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    policy = Policy(hard_cap=int(count(whole) / 1.1), token_budget_threshold=len(whole) // 5)
    page = Desk(rows, shape=Shape(fills_pages=True), policy=policy)("list", {})
    assert len(rows) / 2 < len(page["items"]) < len(rows)
    assert count(json.dumps(page, ensure_ascii=False, separators=(",", ":"))) <= policy.hard_cap
    assert max(counted, default=0) < len(whole)


@pytest.mark.parametrize("fields", ["all", "id,doorCode"])
def test_whole_rows_name_the_fields_that_were_withheld(fields: str):
    rows = [{"id": n, "doorCode": "[withheld: door code]", "note": ""} for n in range(3)]
    answer = Desk(rows)("list", {"fields": fields})
    assert answer["meta"]["withheld"] == ["doorCode"]
    assert "withheld" not in Desk(numbered(3))("list", {"fields": "all"})["meta"]


@pytest.mark.parametrize("ruler", RulerName)
@pytest.mark.parametrize("count", [50, 200])
@pytest.mark.parametrize("length", [3, 16, 23, 30, 37, 53])
def test_the_length_of_hints_does_not_decide_how_many_rows_of_a_page_fit(length: int, count: int, ruler: RulerName):
    """Hints differ between transports, but pages must not (law 4)."""
    city = "Graz " * 20
    rows = [{"id": n, "note": "a quay by the river " * 9, "city": city + "x" * (length + n % 7)} for n in range(count)]
    shape = Shape(row=(Field("id"), Field("note"), Field("city")), fills_pages=True)

    def page_beside(hint: str) -> Envelope:
        request = AnswerRequest("list", "me", lambda name, more: {hint: name, "arguments": dict(more)})
        snapshots = Snapshots(DictSnapshots(), Sealer(["x" * 40]))
        return protect(MemoryRows(rows, shape), request, Policy(ruler=ruler), snapshots)

    assert page_beside("tool").items == page_beside("tool" * 20).items < count
    assert page_beside("tool").oversized
