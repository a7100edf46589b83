"""The model of the client that calls, by sampling, in both eras of MCP: over the SDK's own client."""

import json
import time
from collections.abc import Iterator
from typing import Any

import anyio
import mcp.types as types
import pytest
from asgiref.sync import async_to_sync
from mcp import Client

from gateway.access.callers import caller_of_key
from gateway.catalog.catalog import Operations, catalogue
from gateway.connectors.codebase import operations as codebase
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from tests.doors import Doors
from tests.gateway.connectors.codebase.conftest import Register
from tests.offers import in_place
from tests.patience import PATIENCE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped", "offered_with_model")]

QUERY, COMMIT = "dbp_general_query", "dbp_commit_message"
ANSWER = "`parse_header` splits the line at the colon (src/parser.py:4-6)."
ERAS = ["legacy", "2026-07-28"]
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-old_split(line)\n+new_split(line)\n"


@pytest.fixture
def offered_with_model(register: Register, doors: Doors, settings: Any) -> Iterator[None]:
    settings.CODEBASE_MODEL = "client"
    register("shop")
    doors.choose(reads_all_projects=True)
    with in_place(codebase.operations(), "codebase"):
        yield


class Sampler:
    """A client's model. `asked`: what it was asked."""

    def __init__(self, answer: Any, model: str = "the-clients-own") -> None:
        self.asked: list[types.CreateMessageRequestParams] = []
        self._answer, self._model = answer, model

    async def __call__(self, context: Any, params: types.CreateMessageRequestParams) -> Any:
        self.asked.append(params)
        if isinstance(self._answer, types.ErrorData):
            return self._answer
        text = types.TextContent(type="text", text=self._answer)
        return types.CreateMessageResult(role="assistant", model=self._model, content=text)


def call(doors: Doors, tool: str, arguments: dict[str, Any], mode: str, sampler: Any = None) -> dict[str, Any]:
    async def called() -> types.CallToolResult:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio")), mode=mode, sampling_callback=sampler) as client:
            return await client.call_tool(tool, arguments)

    result = async_to_sync(called)()
    assert not result.is_error
    answer: dict[str, Any] = json.loads(result.content[0].text)
    return answer


def ask(doors: Doors, mode: str, sampler: Any = None, **more: Any) -> dict[str, Any]:
    return call(doors, QUERY, {"query": "How is a header parsed?", **more}, mode, sampler)


def assert_local(answer: dict[str, Any], reason: str) -> None:
    assert "answer" not in answer["results"]
    assert answer["results"]["text"].startswith("src/parser.py:")
    assert [each for each in answer["metadata"]["incomplete"] if reason in each], answer["metadata"]["incomplete"]
    assert answer["metadata"]["isPartialResult"]


@pytest.mark.parametrize("mode", ERAS)
def test_a_question_is_answered_by_the_clients_model(doors: Doors, mode: str, settings: Any):
    settings.CODEBASE_MODEL_MAX_TOKENS = 500
    sampler = Sampler(json.dumps({"answer": ANSWER}))
    answer = ask(doors, mode, sampler)
    assert answer["results"]["answer"] == ANSWER
    assert answer["metadata"]["modelsUsed"] == ["the-clients-own"]
    assert answer["metadata"]["incomplete"] == []
    assert 0 < answer["metadata"]["totalCost"] <= 1.0
    (asked,) = sampler.asked
    assert asked.max_tokens == 500
    assert "It is data." in (asked.system_prompt or "")
    assert "def parse_header" in asked.messages[0].content.text


@pytest.mark.parametrize("mode", ERAS)
def test_a_message_is_worded_by_the_clients_model(doors: Doors, mode: str):
    sampler = Sampler(json.dumps({"subject": "split by `new_split`", "body": ""}))
    answer = call(doors, COMMIT, {"sinceDiff": DIFF}, mode, sampler)
    assert answer["commitMessage"]["title"].endswith(": split by `new_split`")


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_without_sampling_gets_the_local_answer(doors: Doors, mode: str):
    answer = ask(doors, mode)
    assert_local(answer, "does not offer sampling")
    assert answer["metadata"]["modelsUsed"] == []


def test_rest_gets_the_local_answer(doors: Doors):
    answer = doors.post(QUERY, {"query": "How is a header parsed?"})
    assert_local(answer, "does not offer sampling")


def test_a_refusal_leaves_the_local_answer(doors: Doors):
    refusal = types.ErrorData(code=-1, message="User rejected sampling request")
    answer = ask(doors, "legacy", Sampler(refusal))
    assert_local(answer, 'the client answered "User rejected sampling request"')
    assert answer["metadata"]["tools"][-1]["cost"] == 0


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Certainly!", "not the JSON"),
        (json.dumps({"answer": "See src/parser.py:1-900."}), "was not shown"),
        (json.dumps({"answer": "word " * 3_000}), "more than 1,000 tokens"),
    ],
)
def test_an_answer_that_cannot_be_true_leaves_the_local_one(doors: Doors, mode: str, text: str, reason: str):
    answer = ask(doors, mode, Sampler(text))
    assert_local(answer, reason)
    assert answer["metadata"]["modelsUsed"] == ["the-clients-own"]


def test_a_slow_client_does_not_hold_the_call(doors: Doors):
    async def think(context: Any, params: Any) -> Any:
        await anyio.sleep(2 * PATIENCE)

    ask(doors, "legacy")  # the processes that answer have started
    began = time.monotonic()
    assert_local(ask(doors, "legacy", think, timeout=2), "it did not answer within")
    assert time.monotonic() - began < PATIENCE  # the model would take longer


def test_a_client_of_2026_that_comes_back_late_gets_the_local_answer(doors: Doors):
    async def think(context: Any, params: Any) -> Any:
        await anyio.sleep(2.0)  # longer than the call may take
        return await Sampler(json.dumps({"answer": ANSWER}))(context, params)

    ask(doors, "legacy")
    assert_local(ask(doors, "2026-07-28", think, timeout=1), "it did not answer within")


def again(doors: Doors, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As a client of 2026 calls with `input_responses` and `request_state`."""

    async def called() -> Any:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(
            build_server(Peer(caller, "stdio")), mode="2026-07-28", sampling_callback=Sampler("")
        ) as client:
            return await client.session.call_tool(QUERY, arguments, allow_input_required=True, **more)

    result = async_to_sync(called)()
    answer: dict[str, Any] = json.loads(result.content[0].text)
    return answer


def test_an_answer_that_reaches_another_process_is_used_there(doors: Doors):
    text = types.TextContent(type="text", text=json.dumps({"answer": ANSWER}))
    response = types.CreateMessageResult(role="assistant", model="m", content=text)
    question = {"query": "How is a header parsed?"}
    answer = again(doors, question, input_responses={"question": response}, request_state="of another process")
    assert answer["results"]["answer"] == ANSWER
    assert answer["metadata"]["modelsUsed"] == ["m"]


def test_a_process_takes_an_answer_with_its_first_call(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    text = types.TextContent(type="text", text=json.dumps({"answer": ANSWER}))
    response = types.CreateMessageResult(role="assistant", model="m", content=text)
    question = {"query": "How is a header parsed?"}
    with monkeypatch.context() as nothing_loaded:
        nothing_loaded.setattr(catalogue, "operations", Operations({}))
        nothing_loaded.setattr(catalogue, "_revision", None)
        answer = again(doors, question, input_responses={"question": response}, request_state="of another process")
    assert answer["results"]["answer"] == ANSWER


def test_a_call_that_comes_back_without_an_answer_elsewhere_is_told_so(doors: Doors):
    error = again(doors, {"query": "How is a header parsed?"}, request_state="of another process")["error"]
    assert error["reason"] == "question_closed"


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_is_not_asked_for_more_than_the_call_may_cost(doors: Doors, mode: str, settings: Any):
    settings.CODEBASE_MODEL_INPUT_PRICE = 500.0
    sampler = Sampler(json.dumps({"answer": ANSWER}))
    assert_local(ask(doors, mode, sampler, maxCost=0.1), "it could cost up to")
    assert sampler.asked == []


def test_a_models_name_is_shown_as_far_as_it_can_be(doors: Doors):
    answer = ask(doors, "legacy", Sampler(json.dumps({"answer": ANSWER}), model="m\n" + "x" * 500))
    assert answer["metadata"]["modelsUsed"] == ["m" + "x" * 99]
