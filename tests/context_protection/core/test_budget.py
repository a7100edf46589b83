"""The body that leaves says its own size, and its size by both rulers decides (FR-009, FR-012, FR-013, law 1)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from context_protection.core import budget, tokens
from context_protection.core.policy import Policy, RulerName
from tests.properties.desk import real_tokens

HEX = "9f3a1c7e5b2d4860af17c3e59b0d8426"
JAPANESE = "静かな部屋です。海が見えます。朝食は七時からです。"


def rendered(text: str, policy: Policy | None = None, **more: Any) -> budget.Body:
    return budget.render({"text": text, "meta": more}, policy or Policy(), "read_document")


@pytest.mark.parametrize("text", ["", JAPANESE, "😀👨‍👩‍👧‍👦", 'quote " and \\ and \n'])
def test_the_figures_describe_the_very_body_that_carries_them(text: str):
    for size in range(400):
        body = rendered("x" * size + text, Policy(token_budget_threshold=100))
        written = body.data.decode()
        meta = json.loads(written)["meta"]
        assert meta["estimatedTokens"] == body.estimated_tokens == tokens.formula(written)
        assert body.chars == len(written)


def test_the_number_counts_its_own_digits_where_they_change():
    """Around 10, 100, 1,000 and 10,000 tokens a digit more is itself part of the text."""
    for around in (100, 1000, 10_000):
        chars = around * 4 * 5 // 6
        for size in range(chars - 200, chars + 40):
            body = rendered("x" * size)
            assert json.loads(body.data)["meta"]["estimatedTokens"] == tokens.formula(body.data.decode())


def test_what_is_used_and_what_remains_stay_in_their_ranges():
    small, large = rendered("x"), rendered("x" * 100_000)
    assert json.loads(small.data)["meta"]["budgetRemaining"] == 4000 - small.estimated_tokens
    assert json.loads(large.data)["meta"]["budgetUsed"] == 1.0
    assert json.loads(large.data)["meta"]["budgetRemaining"] == 0


def test_what_is_in_meta_already_stays_before_the_figures():
    assert list(json.loads(rendered("x", kind="full").data)["meta"]) == [
        "kind",
        "estimatedTokens",
        "budgetUsed",
        "budgetRemaining",
    ]


def test_the_body_is_compact_json():
    data = rendered("x", kind="full").data
    assert data.startswith(b'{"meta":{"kind":"full","estimatedTokens":')
    assert data.endswith(b'},"text":"x"}')


def test_exactly_the_threshold_is_within_it_and_one_more_is_not():
    body = rendered("x" * 3000)
    for ruler, size in ((RulerName.FORMULA, body.estimated_tokens), (RulerName.CLAUDE, body.claude_tokens)):
        assert body.within_threshold(Policy(token_budget_threshold=size, ruler=ruler))
        assert not body.within_threshold(Policy(token_budget_threshold=size - 1, ruler=ruler))


@pytest.mark.parametrize("text", [HEX, JAPANESE, "The kitchen has an induction hob. ", "😀🏖️"])
@pytest.mark.parametrize("cap", [1000, 12_000])
def test_a_body_that_fits_is_never_over_the_cap_as_claude_counts(text: str, cap: int):
    """Up to the last repetition that is let through, and not much before it."""
    policy = Policy(hard_cap=cap, token_budget_threshold=1000)
    least, most = 0, 60_000 // len(text)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if rendered(text * middle, policy).fits(policy) else (least, middle)
    body = rendered(text * least, policy)
    counted = real_tokens(body.data.decode(), cap)
    assert counted <= cap
    assert counted >= 0.85 * cap or body.chars > 0.97 * budget.MAX_CHARS


@pytest.mark.parametrize("text", [HEX, JAPANESE, "The kitchen has an induction hob. "])
def test_near_a_threshold_of_claudes_tokens_a_body_is_counted_in_full(text: str):
    """A sampled count may be on the other side of the threshold, and differs with the time in the body."""
    uneven = "".join(text * count + "ab " * (7 * count % 11) for count in range(1, 60))
    data = rendered(uneven).data
    full = tokens.claude.count(data.decode())
    assert tokens.claude.estimate(data.decode()) != full
    for threshold in (int(full * 0.95), full - 1, full, int(full * 1.05)):
        policy = Policy(token_budget_threshold=threshold, hard_cap=100_000, ruler=RulerName.CLAUDE)
        body = rendered(uneven, policy)
        assert body.claude_tokens == tokens.claude.count(body.data.decode())


def test_a_body_too_long_for_claudes_clients_does_not_fit_however_few_its_tokens():
    body = rendered(" " * 60_000)
    assert body.claude_tokens < 6000
    assert not body.fits(Policy())


@pytest.mark.parametrize(
    ("cap", "most"),
    [(12_000, budget.MAX_CHARS), (20_000, 80_000)],
    ids=["shipped", "raised"],
)
def test_the_longest_body_fits_and_one_character_more_does_not(cap: int, most: int):
    policy = Policy(hard_cap=cap)
    bodies = [budget.Body(b"", chars, estimated_tokens=1, count=lambda: 1) for chars in (most, most + 1)]
    assert [body.fits(policy) for body in bodies] == [True, False]


def test_an_answer_of_figures_alone_is_whole():
    assert set(json.loads(budget.render({"meta": {}}, Policy(), "get").data)["meta"]) == {
        "estimatedTokens",
        "budgetUsed",
        "budgetRemaining",
    }


def test_fill_says_how_far_over_the_cap_a_body_is():
    body = rendered(HEX * 2000)
    assert 3 < body.fill(Policy()) < 6
    assert body.fill(replace(Policy(), hard_cap=24_000)) == pytest.approx(body.fill(Policy()) / 2, rel=0.1)


def test_strangers_of_pythons_are_written_as_their_text():
    from datetime import date
    from decimal import Decimal

    assert budget.dumps({1: date(2026, 11, 20), "d": Decimal("1.50")}) == b'{"1":"2026-11-20","d":"1.50"}'


@pytest.mark.parametrize("text", ["x", "x" * 12_000, JAPANESE * 300])
def test_a_plain_body_is_measured_as_it_is_sent(text: str):
    body = budget.render_plain({"items": [text]}, Policy(), "list")
    written = body.data.decode()
    assert json.loads(written) == {"items": [text]}
    assert body.chars == len(written)
    assert body.estimated_tokens == tokens.formula(written)
    assert body.claude_tokens == pytest.approx(budget.claude_tokens(body.data, Policy().hard_cap), rel=0.1)
