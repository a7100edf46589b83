"""A record: whole, as a preview with sections, or in parts; and what is withheld is always named (law 2, FR-010)."""

import re
from typing import Any

import pytest

from context_protection.core import tokens
from context_protection.core.errors import InvalidCursor
from context_protection.core.fields import Field
from context_protection.core.policy import Policy, RulerName
from context_protection.core.redaction import redact
from context_protection.core.shapes import Section, Shape
from tests import crawler
from tests.properties.desk import Desk

SHAPE = Shape(
    row=(Field("id"), Field("guestName")),
    sections=(Section("payment", ("card", "total")), Section("access", ("door*",))),
    withheld_in_lists=("phone",),
)
CLEAR = {
    "id": 1,
    "guestName": "Ada",
    "phone": "+49",
    "total": 90,
    "card": {"secret": "4242", "kind": "visa"},
    "doorCode": "1234",
    "doorFloor": 2,
}
RECORD = redact(CLEAR)[0]  # as every connector's answer is, before it is protected


@pytest.fixture
def desk() -> Desk:
    return Desk([RECORD], shape=SHAPE)


@pytest.mark.parametrize(
    ("fields", "withheld"),
    [
        ("all", ["card.secret", "doorCode"]),
        ("doorCode", ["doorCode"]),
        ("access", ["doorCode"]),
        ("card", ["card.secret"]),
        ("payment", ["card.secret"]),
        ("card.secret", ["card.secret"]),
        ("id,card,access", ["card.secret", "doorCode"]),
    ],
)
@pytest.mark.parametrize("operation", ["get", "list"])
def test_what_was_asked_for_and_is_withheld_is_named(desk: Desk, operation: str, fields: str, withheld: list[str]):
    answer = desk(operation, {"fields": fields} | ({"id": 1} if operation == "get" else {}))
    named = [path for path in answer["meta"].get("withheld", []) if path != "phone"]
    assert named == withheld
    assert "4242" not in str(answer)
    assert "1234" not in str(answer)
    by_name = [name for name in fields.split(",") if name in withheld]
    assert bool(by_name) == any("Revealed fields" in note for note in answer["meta"].get("notes", ()))


@pytest.mark.parametrize("fields", ["id,guestName", "doorFloor", "card.kind"])
@pytest.mark.parametrize("operation", ["get", "list"])
def test_what_was_not_asked_for_is_not_named(desk: Desk, operation: str, fields: str):
    answer = desk(operation, {"fields": fields} | ({"id": 1} if operation == "get" else {}))
    assert "withheld" not in answer["meta"]


@pytest.mark.parametrize("fields", ["all", "phone", "other", "id,phone", "guestName"])
def test_what_only_a_record_shows_is_in_no_list(desk: Desk, fields: str):
    answer = desk("list", {"fields": fields})
    assert "+49" not in str(answer)
    if fields in {"all", "phone", "id,phone"}:
        assert "phone" in answer["meta"]["withheld"]
    assert desk("get", {"id": 1, "fields": "phone"})["phone"] == "+49"


def test_what_ops_choose_for_rows_shows_nothing_that_only_a_record_shows(desk: Desk):
    desk.policy = Policy(summary_fields="phone,total", token_budget_threshold=100)
    desk.rows = [{**RECORD, "id": n} for n in range(40)]
    rows = crawler.walk(desk, "list", {})
    assert [row["total"] for row in rows] == [90] * 40
    assert not any("phone" in row for row in rows)


def test_a_section_of_a_list_names_what_only_a_record_shows(desk: Desk):
    assert desk("get", {"id": 1, "fields": "other"})["phone"] == "+49"
    answer = desk("list", {"fields": "other"})
    assert "phone" not in answer["items"][0]
    assert answer["meta"]["withheld"] == ["phone"]


@pytest.mark.parametrize("summarization", [True, False])
def test_a_mask_is_never_cut_in_any_form_of_a_large_record(summarization: bool):
    """Preview, sections, all in parts, list, list in full, table: all of them."""
    record = {**RECORD, "notes": ["A long note. " * 400] * 20}
    desk = Desk([record] * 3, shape=SHAPE, policy=Policy(summarization=summarization, token_budget_threshold=500))
    crawler.record(desk, "get", {"id": 1})
    for fields in ("all", "payment", "access", "other", "card", "doorCode", "card.secret", "notes"):
        crawler.from_parts(desk, "get", {"id": 1, "fields": fields})
    for arguments in ({}, {"fields": "all"}, {"fields": "access"}, {"fields": "card"}, {"format": "table"}):
        list(crawler.pages(desk, "list", arguments))
    assert len(desk.envelopes) > 20
    for envelope in desk.envelopes:
        assert envelope.body.count(b"[withheld: ") == len(re.findall(rb"\[withheld: [^\]]+\]", envelope.body))


def test_no_secret_is_proposed_for_the_condensed_rows_of_a_type_without_declared_fields():
    clear = [{"id": n, "doorCode": "s3cr3t", "phone": "+49 30 1", "note": "A long note. " * 40} for n in range(60)]
    desk = Desk(redact(clear)[0], shape=Shape(withheld_in_lists=("phone",)))
    page = desk("list", {})
    assert page["meta"]["kind"] == "preview"
    assert "withheld" not in str(crawler.rows(page))
    assert "+49" not in str(page)


def test_an_envelope_says_what_was_withheld_and_how_often():
    desk = Desk([RECORD] * 3, shape=SHAPE)
    desk("list", {"fields": "all"})
    counted = {(each.path, each.how): count for each, count in desk.envelopes[-1].withheld.items()}
    assert counted == {("card.secret", "field"): 3, ("doorCode", "field"): 3}


def test_a_record_is_whole_up_to_exactly_the_threshold_and_a_preview_above_it():
    record = {"id": 1, "text": "x" * 3000}
    seen = set()
    for threshold in range(920, 940):
        answer = Desk([record], policy=Policy(token_budget_threshold=threshold))("get", {"id": 1})
        if not crawler.is_preview(answer):
            assert answer["meta"]["estimatedTokens"] <= threshold
            seen.add(answer["meta"]["estimatedTokens"] - threshold)
    assert max(seen) == 0, "a record of exactly the threshold is not cut"


def test_a_record_that_comes_as_a_preview_is_not_counted_whole(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    monkeypatch.setattr(tokens.learned, "tokens", lambda _, data: sizes.append(len(data)) or 1)
    desk = Desk([{"id": 1, "text": "x" * 9000}], policy=Policy(token_budget_threshold=1000))
    assert crawler.is_preview(desk("get", {"id": 1}))
    assert len(sizes) == 1
    assert sizes[0] < 1000


def test_a_long_record_that_comes_as_a_preview_is_not_sampled(monkeypatch: pytest.MonkeyPatch):
    desk = Desk([{"id": 1, "texts": ["So it was told."] * 3000}])
    monkeypatch.setattr(tokens.claude, "estimate", lambda text: pytest.fail("the whole record was sampled"))
    assert crawler.is_preview(desk("get", {"id": 1}))


def test_a_meta_of_upstreams_own_moves_ours():
    answer = Desk([{"id": 1, "meta": {"theirs": True}}])("get", {"id": 1})
    assert answer["meta"] == {"theirs": True}
    assert answer["_meta"]["kind"] == "full"


def test_metas_of_upstreams_own_move_ours_behind_the_last_of_them():
    record = {"id": 1, "meta": {"a": 1}, "_meta": 2, "__meta": 3}
    answer = Desk([record])("get", {"id": 1})
    assert crawler.own(answer) == record
    assert set(answer) - set(record) == {"___meta"}


def test_a_next_cursor_of_upstreams_own_stays_what_it_is_in_parts():
    record = {"id": 1, "nextCursor": "upstream's", "story": "So it was told. " * 6000}
    assert crawler.from_parts(Desk([record]), "get", {"id": 1, "fields": "all"}) == record


def test_more_sections_than_a_preview_names_are_all_left_out():
    """Some of them would look like all of them."""
    record = {"id": 1, **{f"section_{n}_{'x' * 60}": {"value": "y" * 100} for n in range(400)}}
    sections = tuple(Section(f"about_{n}", (f"section_{n}_*",)) for n in range(400))
    desk = Desk([record], shape=Shape(sections=sections))
    preview = desk("get", {"id": 1})
    assert preview["meta"]["detailsAvailable"]["sections"] == {}
    assert crawler.record(desk, "get", {"id": 1}) == record


def test_with_summaries_off_a_large_record_comes_in_parts_at_once():
    record = {"id": 1, "rows": [{"n": n, "text": "x" * 50} for n in range(1500)]}
    desk = Desk([record], policy=Policy(summarization=False))
    assert desk("get", {"id": 1})["meta"]["kind"] == "part"
    assert crawler.from_parts(desk, "get", {"id": 1}) == record


def test_a_record_in_parts_is_counted_once_as_what_upstream_would_have_sent():
    desk = Desk([{"id": 1, "story": "So it was told. " * 6000}])
    for _ in range(2):
        crawler.from_parts(desk, "get", {"id": 1, "fields": "all"})
    first, *following = desk.envelopes
    assert first.baseline == first.original_tokens > 20_000
    assert [each.baseline for each in following] == [0] * len(following)


def test_the_first_part_names_what_is_withheld():
    desk = Desk([{**RECORD, "story": "So it was told. " * 6000}], shape=SHAPE)
    first = desk("get", {"id": 1, "fields": "all"})
    assert (first["meta"]["kind"], first["meta"]["withheld"]) == ("part", ["card.secret", "doorCode"])


def test_elements_that_are_torn_are_put_together_again_by_what_their_parts_continue():
    record = {"id": 1, "rows": ["a" * 70_000, {"text": "b" * 70_000}, "c"], "deep": {"er": ["d" * 70_000, "e"]}}
    desk = Desk([record])
    assert crawler.from_parts(desk, "get", {"id": 1, "fields": "all"}) == record
    desk.assert_never_over_the_cap()


def test_fields_cannot_change_between_parts():
    desk = Desk([{"id": 1, "a": "x" * 90_000, "b": "y"}])
    cursor = crawler.next_of_record(desk("get", {"id": 1, "fields": "all"}))
    with pytest.raises(InvalidCursor) as refused:
        desk("get", {"id": 1, "fields": "b", "cursor": cursor})
    assert refused.value.reason == "cursor_mismatch"
    assert desk("get", {"id": 1, "fields": "all", "cursor": cursor})["meta"]["kind"] == "part"


def test_parts_are_of_the_record_as_it_was_at_the_first():
    record = {"id": 1, "a": "x" * 90_000}
    desk = Desk([record])
    pieces: list[Any] = []
    for part in crawler.pages(desk, "get", {"id": 1, "fields": "all"}, crawler.next_of_record):
        pieces.append(part.get("a", ""))
        desk.rows = [{"id": 1, "a": "changed"}]
    assert "".join(pieces) == record["a"]


def test_the_sizes_of_sections_are_what_they_take():
    record = {"id": 1, "rows": [{"n": n} for n in range(900)], "notes": ["x" * 40] * 100}
    desk = Desk([record], policy=Policy(token_budget_threshold=500))
    preview = desk("get", {"id": 1})
    for name, section in preview["meta"]["detailsAvailable"]["sections"].items():
        alone = desk("get", {"id": 1, "fields": name})
        assert 0 <= crawler.ours(alone)["estimatedTokens"] - section["estimatedTokens"] <= 40


def test_a_record_comes_whole_if_it_is_within_the_threshold_by_the_ruler_that_ops_chose():
    record = {"id": 1, "note": "government department responsibility environment " * 40}
    by_formula = tokens.formula_of_length(len(str(record)))
    for ruler, kind in ((RulerName.FORMULA, "preview"), (RulerName.CLAUDE, "full")):
        desk = Desk([record], policy=Policy(ruler=ruler, token_budget_threshold=by_formula - 20))
        assert desk("get", {"id": 1})["meta"]["kind"] == kind
