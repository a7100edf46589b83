"""Figures from earlier, similar texts: near what ctok counts, and for telemetry alone."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from context_protection.core import budget, tokens
from context_protection.core.budget import dumps
from context_protection.core.cache_budget import CacheBudget
from context_protection.core.cursors import Sealer, Snapshots
from context_protection.core.policy import Policy, RulerName
from context_protection.core.tokens import LearnedRates, claude, exact
from context_protection.core.tokens.learned_rates import FEWEST_USES
from tests.context_protection.core.test_tokens import MAKERS, seeded, text_of
from tests.properties.desk import Desk, DictSnapshots

ROUNDS = 12


class NotingRuler:
    """Claude's ruler, with the number of texts that it counted."""

    counts = True
    degraded = ""

    def __init__(self) -> None:
        self.counted = 0

    def count(self, text: str) -> int:
        self.counted += 1
        return claude.count(text)

    def estimate(self, text: str) -> int:
        return claude.estimate(text)


def pieces(kind: str) -> Iterator[bytes]:
    """Answers of a few kilobytes, each another part of a text of this kind."""
    text, chance = text_of(kind, 24), seeded(kind)
    for _ in range(ROUNDS):
        start = chance.randrange(max(1, len(text) - 6000))
        yield dumps({"meta": {"kind": "full"}, "content": text[start : start + chance.randrange(2000, 6000)]})


@pytest.mark.parametrize("kind", MAKERS)
def test_answers_of_one_operation_are_within_ten_percent_of_what_ctok_counts(kind: str):
    learned = LearnedRates(claude)
    for data in pieces(kind):
        assert learned.tokens("read", data) == pytest.approx(exact(data.decode()), rel=0.1)


def test_answers_of_all_sorts_from_one_operation_are_within_ten_percent_of_a_count():
    learned, mixed = LearnedRates(claude), [data for kind in MAKERS for data in pieces(kind)]
    random.Random(4).shuffle(mixed)
    for data in mixed:
        assert learned.tokens("read", data) == pytest.approx(claude.count(data.decode()), rel=0.1)


def _rows(chance: random.Random, value: Callable[[random.Random], Any]) -> bytes:
    return dumps({"items": [{"id": chance.randrange(10**8), "value": value(chance)} for _ in range(60)]})


def test_similar_answers_are_rarely_counted():
    ruler, chance = NotingRuler(), seeded("rows")
    learned = LearnedRates(ruler)
    for _ in range(200):
        learned.tokens("list", _rows(chance, lambda chance: f"Guest Number {chance.randrange(100)}"))
    assert ruler.counted < 40


def _counts(values: Iterable[str]) -> int:
    """How many of these answers of one operation are counted."""
    ruler, chance = NotingRuler(), seeded("rows")
    learned = LearnedRates(ruler)
    for value in values:
        learned.tokens("list", _rows(chance, lambda _, value=value: value))
    return ruler.counted


def test_answers_that_confirm_a_rate_are_counted_ever_more_rarely():
    assert _counts(["the guest arrives late"] * 2000) < 20


def test_answers_that_do_not_confirm_a_rate_are_counted_as_often_as_at_first():
    """Both texts have the same letters, but one of them consists of words."""
    words, noise = "the guest arrives late", "eth gtues vriraes teal"
    assert _counts([words, noise] * 1000) > 2000 / FEWEST_USES / 2


def test_another_operation_and_other_content_are_counted_for_themselves():
    ruler, chance = NotingRuler(), seeded("rows")
    learned = LearnedRates(ruler)
    words, signs = (_rows(chance, lambda _, value=value: value) for value in ("the guest arrives late", "-*/=%^"))
    for operation, data in (("list", words), ("list", words), ("other", words), ("list", signs)):
        learned.tokens(operation, data)
    assert ruler.counted == 3


def test_what_is_remembered_is_bounded():
    budget = CacheBudget(50_000)
    learned = LearnedRates(claude, budget)
    data = _rows(seeded("rows"), lambda chance: "a guest")
    for number in range(200):
        learned.tokens(f"operation {number}", data)
    assert 20 <= len(learned._rates) < 200
    assert budget.used <= 50_000


# -- They decide nothing ----------------------------------------------------------------------------


def _learned_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "learned", LearnedRates(_Tenfold()))


class _Tenfold(NotingRuler):
    def count(self, text: str) -> int:
        return 10 * claude.count(text)


def test_a_wrong_figure_neither_takes_an_answer_over_the_cap_nor_makes_it_smaller(monkeypatch: pytest.MonkeyPatch):
    records = [{"id": number, "note": "The guest arrives late. " * 6} for number in range(30)]
    right = Desk(records)("list", {})
    _learned_wrong(monkeypatch)
    assert Desk(records)("list", {}) == right


def test_a_handle_does_not_depend_on_what_was_learned(monkeypatch: pytest.MonkeyPatch):
    record = {"id": 7, "log": [{"at": f"2026-11-{day:02}", "what": "changed the arrival"} for day in range(1, 29)] * 6}
    right = _handles(record)
    _learned_wrong(monkeypatch)
    assert _handles(record) == right


def _handles(record: dict[str, Any]) -> set[str]:
    store = DictSnapshots()
    desk = Desk([record], policy=Policy(token_budget_threshold=2000), snapshots=Snapshots(store, Sealer(["x" * 40])))
    assert desk("get", {"id": 7})["meta"]["kind"] == "preview"
    return set(store.kept)


def test_thresholds_by_claudes_ruler_are_decided_by_a_count(monkeypatch: pytest.MonkeyPatch):
    document, policy = {"meta": {}, "note": "The guest arrives late. " * 200}, Policy(ruler=RulerName.CLAUDE)
    right = budget.render(document, policy, "get").claude_tokens
    _learned_wrong(monkeypatch)
    assert budget.render(document, policy, "get").claude_tokens == right
