"""Laws 1 and 2 while Claude's tokens cannot be counted: bodies stay within 10 KB by default, and nothing is lost."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_protection.core import tokens
from context_protection.core.budget import dumps
from context_protection.core.policy import Policy
from tests import crawler
from tests.properties import payloads
from tests.properties.desk import Desk, MemoryText, exact_tokens

DENSE = ("ZaQ1", "~ ", "_ ' ", "Ж", "Ѭ ", "\u0338", "Ǐ ", "😀", "語", "aaaa", "the guest ")
dense_texts = st.lists(st.tuples(st.sampled_from(DENSE), st.integers(1, 4000)), min_size=1, max_size=6).map(
    lambda parts: "".join(part * times for part, times in parts)
)
policies = st.builds(
    Policy,
    token_budget_threshold=st.integers(200, 12_000),
    hard_cap=st.sampled_from([1_500, 3_000, 12_000, 25_000]),
    chunk_tokens=st.integers(100, 20_000),
)


@pytest.fixture(scope="module", autouse=True)
def without_tokenizer() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens.claude, "_counter", None)
        patch.setattr(tokens.claude, "_loaded", True)
        yield


def assert_small(desk: Desk) -> None:
    for envelope in desk.envelopes:
        body = envelope.body.decode()
        assert len(body) <= 9_800
        assert len(envelope.body) <= 10 * 1024 or desk.policy.hard_cap > 12_000
        assert exact_tokens(body) <= desk.policy.hard_cap


def assume_names_fit(record: dict[str, Any], policy: Policy) -> None:
    """Leaves out records that are refused with `names_too_long`. A byte may count as two tokens, and a part contains
    the names twice."""
    names = payloads.longest_path(record, lambda name: len(dumps(name)))
    assume(2 * (2 * names + OTHER_BYTES) <= policy.hard_cap / tokens.MARGIN)


OTHER_BYTES = 460  # of the smallest part besides the names: text, meta, cursor


@given(dense_texts | payloads.long_texts(40_000), policies)
def test_a_text_comes_whole(content: str, policy: Policy):
    desk = Desk(text=MemoryText(content), policy=policy)
    assert "".join(answer["content"] for answer in crawler.pages(desk, "read", {})) == content
    assert_small(desk)


@given(payloads.large_records(), dense_texts, policies)
def test_a_record_comes_whole(record: dict[str, Any], note: str, policy: Policy):
    record = {**record, "id": 7, "note": note}
    assume_names_fit(record, policy)
    desk = Desk([record], policy=policy)
    assert crawler.record(desk, "get", {"id": 7}) == record
    assert_small(desk)


@given(payloads.lists(), dense_texts, policies)
def test_each_row_of_a_list_comes_whole(rows: list[dict[str, Any]], note: str, policy: Policy):
    rows = [{**row, "note": note[: 40 * (number % 50)]} for number, row in enumerate(rows)]
    for row in rows:
        assume_names_fit(row, policy)
    desk = Desk(rows, policy=policy)
    assert len(crawler.walk(desk, "list", {})) == len(rows)
    for row in rows[:2] + rows[-2:]:
        assert crawler.record(desk, "get", {"id": row["id"], "fields": "all"}) == row
    assert_small(desk)
