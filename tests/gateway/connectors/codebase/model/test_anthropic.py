"""The model of Anthropic's API, by its official client against a simulator: what it adds, and what it costs."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.connectors.codebase.model_step import CHECK_SECONDS
from tests.doors import Doors
from tests.simulators.messages_api import MODEL, MessagesApi, messages_api

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped", "offered")]

QUERY, COMMIT = "dbp_general_query", "dbp_commit_message"
ANSWER = "`parse_header` splits the line at the colon (src/parser.py:4-6)."
DIFF = (
    "--- a/src/parser.py\n+++ b/src/parser.py\n@@ -1,2 +1,2 @@\n"
    " def parse(line):\n-    old_split(line)\n+    new_split(line)\n"
)


def answering(**parts: str) -> str:
    return orjson.dumps(parts).decode()


@pytest.fixture
def api(settings: Any) -> Iterator[MessagesApi]:
    with messages_api() as api:
        settings.CODEBASE_MODEL = "anthropic"
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "sk-of-the-test", api.url
        api.text = answering(answer=ANSWER)
        yield api


def ask(doors: Doors, **more: Any) -> dict[str, Any]:
    return doors.post(QUERY, {"query": "How is a header parsed?", **more})


def model_step(answer: dict[str, Any]) -> dict[str, Any]:
    (step,) = (each for each in answer["metadata"]["tools"] if each["name"] == "model")
    return step


def assert_local(answer: dict[str, Any], reason: str) -> None:
    metadata = answer["metadata"]
    assert "answer" not in answer["results"]
    assert answer["results"]["text"].startswith("src/parser.py:")
    assert [each for each in metadata["incomplete"] if reason in each], metadata["incomplete"]
    assert metadata["isPartialResult"]
    assert model_step(answer)["isPartialResult"]
    assert metadata["totalCost"] == pytest.approx(sum(each["cost"] for each in metadata["tools"]))
    assert metadata["totalCost"] <= metadata["budget"]["limit"]


def test_a_question_is_answered_above_the_excerpts(api: MessagesApi, doors: Doors):
    answer = ask(doors)
    metadata, step = answer["metadata"], model_step(answer)
    assert answer["results"]["answer"] == ANSWER
    assert answer["results"]["text"].startswith("src/parser.py:")
    assert metadata["modelsUsed"] == [MODEL]
    assert step["cost"] == pytest.approx(0.0015, abs=0.0005)  # 1,000 tokens at $1 and 100 at $5 for a million
    assert metadata["totalCost"] == pytest.approx(sum(each["cost"] for each in metadata["tools"]))
    assert metadata["budget"]["used"] == metadata["totalCost"]
    assert not metadata["isPartialResult"]
    assert metadata["incomplete"] == []


def test_the_api_is_asked_as_the_settings_say(api: MessagesApi, doors: Doors, settings: Any):
    settings.CODEBASE_MODEL_NAME, settings.CODEBASE_MODEL_MAX_TOKENS = "claude-x", 321
    ask(doors)
    (request,) = api.requests
    assert request.path == "/v1/messages"
    assert request.headers["authorization"] == "Bearer sk-of-the-test"
    assert (request.body["model"], request.body["max_tokens"]) == ("claude-x", 321)
    assert "It is data." in request.body["system"]
    assert "def parse_header" in request.body["messages"][0]["content"]


def test_rows_have_the_answer_beside_them(api: MessagesApi, doors: Doors):
    results = ask(doors, responseFormat="JSON")["results"]
    assert results["answer"] == ANSWER
    assert results["matches"][0]["path"] == "src/parser.py"


def test_a_message_is_worded_by_the_model(api: MessagesApi, doors: Doors):
    api.text = answering(subject="parse by `new_split`", body="It replaces `old_split`.")
    answer = doors.post(COMMIT, {"sinceDiff": DIFF})
    assert answer["commitMessage"]["title"].endswith(": parse by `new_split`")
    assert answer["commitMessage"]["body"] == "It replaces `old_split`."
    assert answer["metadata"]["modelsUsed"] == [MODEL]


@pytest.mark.parametrize("withheld", ["text", "results"])
def test_a_model_is_not_shown_what_the_policy_withholds(api: MessagesApi, doors: Doors, withheld: str):
    TokenBudget.objects.create(connector="codebase", withheld_fields=withheld)
    revisions.bump()
    answer = ask(doors)
    assert api.requests == []
    assert "[withheld: by policy]" in str(answer["results"])
    assert "not asked: the policy withholds a part of the answer" in answer["metadata"]["incomplete"][0]


def test_what_an_answer_does_not_have_need_not_be_withheld_from_a_model(api: MessagesApi, doors: Doors):
    TokenBudget.objects.create(connector="codebase", withheld_fields="guestName")
    revisions.bump()
    assert ask(doors)["results"]["answer"] == ANSWER


def test_a_false_claim_leaves_the_local_message(api: MessagesApi, doors: Doors, settings: Any):
    api.text = answering(subject="add `old_split`", body="")
    answer = doors.post(COMMIT, {"sinceDiff": DIFF})
    settings.CODEBASE_MODEL = "off"
    local = doors.post(COMMIT, {"sinceDiff": DIFF})
    assert answer["commitMessage"] == local["commitMessage"]
    assert answer["changedFiles"] == local["changedFiles"]
    assert 'answer was not used: it says "old_split"' in answer["metadata"]["incomplete"][0]
    assert answer["metadata"]["totalCost"] > local["metadata"]["totalCost"]


def test_a_structured_query_asks_no_model(api: MessagesApi, doors: Doors):
    answer = doors.post(QUERY, {"query": {"operation": "listFiles"}})
    assert api.requests == []
    assert answer["metadata"]["modelsUsed"] == []
    assert answer["metadata"]["incomplete"] == []


def test_no_model_is_asked_unless_it_is_chosen(api: MessagesApi, doors: Doors, settings: Any):
    settings.CODEBASE_MODEL = "off"
    answer = ask(doors)
    assert api.requests == []
    assert "answer" not in answer["results"]
    assert answer["metadata"]["incomplete"] == []


# -- What goes wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_a_refused_request_costs_nothing_and_is_sent_once(api: MessagesApi, doors: Doors, status: int):
    api.status = status
    answer = ask(doors)
    assert_local(answer, f"the API answered with HTTP {status}")
    assert model_step(answer)["cost"] == 0
    assert len(api.requests) == 1


@pytest.mark.parametrize("raw", [b"<html>", b"", b"[]", b'{"type": "message"}', b'{"content": 7, "usage": null}'])
def test_garbage_is_not_used(api: MessagesApi, doors: Doors, raw: bytes):
    api.raw = raw
    assert_local(ask(doors), "the API's answer cannot be read")


@pytest.mark.parametrize(
    ("stop_reason", "reason"), [("refusal", "it refused"), ("max_tokens", "more than 1,000 tokens")]
)
def test_an_answer_that_did_not_end_is_paid_for_and_not_used(
    api: MessagesApi, doors: Doors, stop_reason: str, reason: str
):
    api.stop_reason = stop_reason
    answer = ask(doors)
    assert_local(answer, reason)
    assert model_step(answer)["cost"] == pytest.approx(0.0015)
    assert answer["metadata"]["modelsUsed"] == [MODEL]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The header is split.", "not the JSON"),
        (answering(answer="See src/parser.py:1-900."), "was not shown"),
        (answering(answer="`parse_footer` does, src/parser.py:4-5."), "which is not in the excerpts"),
        (answering(answer=""), "it found no answer"),
    ],
)
def test_an_answer_that_cannot_be_true_is_paid_for_and_not_used(api: MessagesApi, doors: Doors, text: str, reason: str):
    api.text = text
    answer = ask(doors)
    assert_local(answer, reason)
    assert model_step(answer)["cost"] >= 0.0015


def test_an_api_that_is_not_there_costs_nothing(api: MessagesApi, doors: Doors, settings: Any, free_tcp_port: int):
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{free_tcp_port}"
    answer = ask(doors)
    assert_local(answer, "the API cannot be reached")
    assert model_step(answer)["cost"] == 0


def test_the_callers_time_ends_the_wait(api: MessagesApi, doors: Doors):
    ask(doors)  # the processes that answer have started
    api.release.clear()
    began = time.monotonic()
    answer = ask(doors, timeout=4)
    assert time.monotonic() - began < 50  # the model would take a minute
    assert_local(answer, "it did not answer within")
    assert model_step(answer)["budgetExceeded"]
    assert model_step(answer)["cost"] > 0.005  # the most that it could have cost: the API may bill it


def test_the_settings_end_the_wait_too(api: MessagesApi, doors: Doors, settings: Any):
    ask(doors)
    settings.CODEBASE_MODEL_SECONDS = 0.6
    api.release.clear()
    answer = ask(doors)
    assert_local(answer, "it did not answer within 0.6 seconds")
    assert not answer["metadata"]["budgetExceeded"]


def test_without_time_it_is_not_asked(api: MessagesApi, doors: Doors, monkeypatch: pytest.MonkeyPatch):
    ask(doors)
    api.requests.clear()
    monkeypatch.setattr("gateway.connectors.codebase.model_step.SHORTEST", 2 - CHECK_SECONDS)
    assert_local(ask(doors, timeout=2), "no time was left")
    assert api.requests == []


def test_what_could_cost_too_much_is_not_asked(api: MessagesApi, doors: Doors, settings: Any):
    settings.CODEBASE_MODEL_OUTPUT_PRICE = 900.0
    answer = ask(doors, maxCost=0.5)
    assert_local(answer, "The language model was not asked: it could cost up to $0.9")
    assert model_step(answer)["budgetExceeded"]
    assert answer["metadata"]["budget"]["exceeded"]
    assert api.requests == []
    (said,) = answer["metadata"]["incomplete"]
    enough = float(said.rpartition("Set maxCost to ")[2].rstrip("."))
    assert "answer" in ask(doors, maxCost=enough)["results"]


def test_a_bill_above_the_estimate_never_exceeds_the_limit(api: MessagesApi, doors: Doors):
    api.usage = {"input_tokens": 10**9, "output_tokens": 10**9}
    metadata = ask(doors, maxCost=0.5)["metadata"]
    assert 0.49 < metadata["totalCost"] <= 0.5


def test_without_its_client_the_local_answer_is_given(api: MessagesApi, doors: Doors, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    assert_local(ask(doors), "the package anthropic is not installed")
