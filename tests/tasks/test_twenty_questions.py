"""Whole tasks, not single answers: every question answered rightly, for a tenth of the tokens of raw paging at most."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from context_protection.core import tokens
from tests.doors import Doors
from tests.tasks.account import Account
from tests.tasks.joined_questions import JOINED_QUESTIONS
from tests.tasks.questions import QUESTIONS, Question

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def account() -> Account:
    return Account.of_sample()


class Counting:
    """A client that counts what it reads and writes, as Claude does."""

    def __init__(self, call: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self.call, self.tokens, self.calls = call, 0, 0

    def __call__(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(operation, arguments)
        assert "error" not in answer, answer
        size = tokens.claude.count(_compact(answer))
        assert size <= 12_000
        self.calls += 1
        self.tokens += size + tokens.claude.count(_compact({"name": operation, "arguments": arguments}))
        return answer


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.words)
def test_a_question_is_answered_rightly_for_few_tokens(question: Question, doors: Doors, account: Account):
    ask = Counting(doors.mcp)
    assert question.answer(ask) == question.truth(account)
    assert ask.tokens <= 0.1 * sum(account.costs[name] for name in question.needs)


def test_all_questions_together_take_a_tenth_of_the_tokens_of_raw_paging_at_most(doors: Doors, account: Account):
    ask = Counting(doors.rest)
    for question in QUESTIONS:
        question.answer(ask)
    raw = sum(account.costs[name] for question in QUESTIONS for name in question.needs)
    assert ask.tokens <= 0.1 * raw, f"{ask.tokens:,} tokens instead of {raw:,}"


@pytest.mark.parametrize("question", JOINED_QUESTIONS, ids=lambda question: question.words)
def test_a_question_to_several_sources_takes_four_calls_and_few_tokens(
    question: Question, doors: Doors, account: Account
):
    ask = Counting(doors.mcp)
    truth = question.truth(account)
    assert truth, "the sample account has an answer"
    assert question.answer(ask) == truth
    assert ask.calls <= 4
    assert ask.tokens <= 0.012 * sum(account.costs[name] for name in question.needs)
