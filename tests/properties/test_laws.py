"""The laws of context protection, over generated payloads. Each was seen to fail on a seeded bug."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_protection.core import budget, tokens
from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Policy
from context_protection.core.redaction import redact
from context_protection.core.shapes import ANY, Section, Shape
from tests import crawler
from tests.properties import payloads
from tests.properties.desk import Desk, MemoryText, real_tokens

DECLARED = Shape(sections=(Section("guest", ("guest*",)), Section("system", ("id", "status", "a_name*"))))


def assume_names_fit(record: dict[str, Any], policy: Policy) -> None:
    """What is refused with `names_too_long` is no subject of a law."""
    assume(payloads.longest_path(record) <= policy.hard_cap * LONGEST_PATH)


LONGEST_PATH = 0.6  # characters of names for each token of the cap
policies = st.builds(
    Policy,
    token_budget_threshold=st.integers(200, 1500),
    hard_cap=st.sampled_from([1500, 3000, 12000]),
    default_page_size=st.integers(1, 50),
    chunk_size=st.integers(5, 200),
    chunk_tokens=st.integers(100, 2000),
)


@given(payloads.records | payloads.large_records(), policies)
def test_a_record_is_never_over_the_cap_always_whole_and_nothing_of_it_is_lost(record: dict[str, Any], policy: Policy):
    record = {**record, "id": 7}
    assume_names_fit(record, policy)
    desk = Desk([record], policy=policy)
    assert crawler.record(desk, "get", {"id": 7}) == record
    desk.assert_never_over_the_cap()


def test_names_that_no_answer_can_hold_are_refused_in_words():
    record: dict[str, Any] = {"id": 7, "note": "calm sea " * 2000}
    below: Any = "blue " * 2000
    for number in range(8):
        below = {f"a_name_that_is_long_{number}_" + "and_goes_on_" * 20: below}
    desk = Desk([{**record, **below}], policy=Policy(hard_cap=1500))
    with pytest.raises(InvalidArgument) as refused:
        crawler.record(desk, "get", {"id": 7, "fields": "all"})
    assert refused.value.reason == "names_too_long"
    desk.assert_never_over_the_cap()


@given(payloads.large_records(), policies, st.sampled_from([ANY, DECLARED]))
def test_the_sections_of_a_preview_are_the_whole_record(record: dict[str, Any], policy: Policy, shape: Shape):
    record = {**record, "id": 7}
    assume_names_fit(record, policy)
    desk = Desk([record], policy=policy, shape=shape)
    answer = desk("get", {"id": 7})
    if crawler.is_preview(answer) and answer["meta"]["detailsAvailable"].get("sections"):
        assert crawler.by_sections(desk, "get", {"id": 7}) == record
    desk.assert_never_over_the_cap()


@given(payloads.lists(), policies, st.sampled_from([None, "items", "table"]))
def test_a_list_is_never_over_the_cap_and_every_row_of_it_can_be_had_whole(
    rows: list[dict[str, Any]], policy: Policy, form: str | None
):
    for row in rows:
        assume_names_fit(row, policy)
    desk = Desk(rows, policy=policy)
    shown = crawler.walk(desk, "list", {"format": form} if form else {})
    assert len(shown) == len(rows)
    for row in rows[:3] + rows[-2:]:
        assert crawler.record(desk, "get", {"id": row["id"], "fields": "all"}) == row
    desk.assert_never_over_the_cap()


@given(payloads.lists(), policies, st.sampled_from([None, "items", "table"]))
def test_all_fields_of_a_list_give_its_rows_as_they_are(rows: list[dict[str, Any]], policy: Policy, form: str | None):
    for row in rows:
        assume_names_fit(row, policy)
    desk = Desk(rows, policy=policy)
    whole = crawler.walk(desk, "list", {"fields": "all", **({"format": form} if form else {})})
    assert len(whole) == len(rows)
    opened: list[dict[str, Any]] = []  # rows are alike but for their ids: one of each is opened
    for got, row in zip(whole, rows, strict=True):
        if got != row:  # alone over the cap: its preview, with the call that opens it
            operation, arguments = crawler.details(got["detailsAvailable"])
            assert (operation, arguments) == ("get", {"id": row["id"], "fields": "all"})
            if {**row, "id": 0} not in opened:
                opened.append({**row, "id": 0})
                assert crawler.from_parts(desk, operation, arguments) == row
    desk.assert_never_over_the_cap()


@given(payloads.long_texts(60_000), policies, st.sampled_from(["a.txt", "a.md", "a.log", "a.csv", "a.py"]))
def test_a_text_is_never_over_the_cap_and_comes_character_for_character(content: str, policy: Policy, name: str):
    desk = Desk(text=MemoryText(content, name=name), policy=policy)
    answers = list(crawler.pages(desk, "read", {}))
    assert "".join(answer["content"] for answer in answers) == content
    assert [answer["chunkIndex"] for answer in answers] == list(range(len(answers)))
    assert {answer["totalChunks"] for answer in answers} == {len(answers)}
    for answer in answers:
        assert answer["metadata"]["bytesInChunk"] == len(answer["content"].encode())
        assert answer["metadata"]["startLine"] <= answer["metadata"]["endLine"] <= answer["metadata"]["totalLines"]
    desk.assert_never_over_the_cap()


@given(payloads.long_texts(40_000), st.integers(1500, 12000), st.data())
def test_a_text_stays_whole_and_under_a_cap_that_is_lowered_while_it_is_read(content: str, cap: int, data: Any):
    desk = Desk(text=MemoryText(content), policy=Policy(chunk_tokens=4000))
    lowered_at = data.draw(st.integers(0, 3))
    pieces: list[str] = []
    for turn, answer in enumerate(crawler.pages(desk, "read", {})):
        pieces.append(answer["content"])
        if turn == lowered_at:
            desk.envelopes.clear()
            desk.policy = Policy(hard_cap=cap, token_budget_threshold=1000)
    assert "".join(pieces) == content
    if len(pieces) > lowered_at + 1:
        desk.assert_never_over_the_cap()


@given(payloads.records | payloads.large_records(), payloads.lists(), policies)
def test_every_answer_says_its_own_size(record: dict[str, Any], rows: list[dict[str, Any]], policy: Policy):
    desk = Desk([{**record, "id": 7}, *rows], policy=policy)
    desk("get", {"id": 7})
    desk("list", {})
    for envelope in desk.envelopes:
        meta = crawler.ours(json.loads(envelope.body))
        assert meta["estimatedTokens"] == tokens.formula(envelope.body.decode())
        assert 0 <= meta["budgetUsed"] <= 1
        assert meta["budgetRemaining"] == max(0, policy.token_budget_threshold - meta["estimatedTokens"])


@given(payloads.records, policies)
def test_what_is_under_the_budget_is_not_touched(record: dict[str, Any], policy: Policy):
    record = {**record, "id": 7}
    assume_names_fit(record, policy)
    desk = Desk([record], policy=policy)
    answer = desk("get", {"id": 7})
    if not crawler.is_preview(answer):
        assert desk.envelopes[0].body.endswith(b"}," + budget.dumps(record)[1:])


@given(payloads.lists())
def test_the_same_call_gives_the_same_rows_however_often_it_is_made(rows: list[dict[str, Any]]):
    desk = Desk(rows, policy=Policy(token_budget_threshold=1000))
    first = desk("list", {"limit": 20})
    if "nextCursor" in first:
        again = [desk("list", {"cursor": first["nextCursor"]}) for _ in range(3)]
        assert crawler.rows(again[0]) == crawler.rows(again[1]) == crawler.rows(again[2])


@given(payloads.long_texts(20_000), policies, st.sampled_from([0, 3, 100]), st.sampled_from([None, "handle", "table"]))
def test_values_that_a_note_names_do_not_take_an_answer_over_the_cap(
    text: str, policy: Policy, above: int, form: str | None
):
    """Two currencies of any length, which the note on a comparison of amounts names."""
    rows = [{"id": n, "totalPrice": n, "currency": f"{n} {text}"} for n in range(9)]
    desk = Desk(rows, policy=policy, result_operation="result_query")
    desk("list", {"where": {"totalPrice": {"gt": above}}, **({"format": form} if form else {})})
    desk.assert_never_over_the_cap()


def test_a_record_with_long_names_of_withheld_fields_can_be_read():
    """Their list in `meta` took more than the hard cap: a character of these names is four tokens."""
    names = ["".join(chr(0x40000 + 997 * n + 7 * at) for at in range(80)) for n in range(60)]
    record = {"id": 7, **{name: {"doorCode": "[withheld: door code]"} for name in names}}
    desk = Desk([record])
    assert crawler.record(desk, "get", {"id": 7, "fields": "all"}) == record
    desk.assert_never_over_the_cap()


@given(st.dictionaries(payloads.names, payloads.values, max_size=300), policies)
def test_an_error_is_never_over_the_cap(record: dict[str, Any], policy: Policy):
    desk = Desk([{**record, "id": 7}], policy=policy)
    for operation in ("get", "list"):
        with pytest.raises(InvalidArgument) as refused:
            desk(operation, {"id": 7, "fields": "no-such-field"} if operation == "get" else {"fields": "no-such-field"})
        body = budget.dumps(refused.value.document()).decode()
        assert real_tokens(body, policy.hard_cap) <= policy.hard_cap


@given(payloads.lists(), policies)
def test_what_is_withheld_leaves_in_no_form_and_is_named_where_it_was_asked_for(
    rows: list[dict[str, Any]], policy: Policy
):
    rows = [{**row, "doorCode": "s3cr3t-value", "deep": {"Wi-Fi_Password": "s3cr3t-value"}} for row in rows]
    masked = redact(rows)[0]
    desk = Desk(masked, policy=policy, shape=DECLARED)
    crawler.walk(desk, "list", {})
    crawler.walk(desk, "list", {"fields": "all"})
    for row in masked[:2]:
        answer = desk("get", {"id": row["id"], "fields": "doorCode"})
        assert answer["meta"]["withheld"] == ["doorCode"]
        assert crawler.record(desk, "get", {"id": row["id"]}) == row
    assert not [envelope for envelope in desk.envelopes if b"s3cr3t-value" in envelope.body]
    desk.assert_never_over_the_cap()


def test_a_policy_cannot_be_changed():
    policy = Policy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.hard_cap = 1  # type: ignore[misc]
