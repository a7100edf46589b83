"""The client's own model at every transport: a client asks, its model is asked while the call runs, and answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import Client

from tests.e2e.serving import Serving, serving, web
from tests.e2e.test_clients import TRANSPORTS, over_http
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.query.conftest import FILES
from tests.patience import PATIENCE

QUESTION = {"query": "How is a header parsed?", "timeout": 2 * PATIENCE}
ANSWER = "`parse_header` splits the line at the colon (src/parser.py:4-6)."


def serving_a_project(folder: Path, **variables: str) -> Any:
    return serving(folder, CODEBASE_MODEL="client", **variables)


def with_project(sluice: Serving, folder: Path) -> Serving:
    root = repositories.new(folder, **FILES)
    assert sluice.manage("project", "add", "shop", str(root)).returncode == 0
    assert sluice.manage("project", "sync", "shop", "--wait", str(5 * PATIENCE)).returncode == 0
    return sluice


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving_a_project(tmp_path_factory.mktemp("sluice")) as running:
        yield with_project(running, tmp_path_factory.mktemp("tree") / "shop")


@pytest.fixture(scope="module")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving_a_project(tmp_path_factory.mktemp("stateful"), MCP_STATEFUL="true") as running:
        yield with_project(running, tmp_path_factory.mktemp("tree") / "shop")


async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    assert "def parse_header" in params.messages[0].content.text  # type: ignore[union-attr]
    text = types.TextContent(type="text", text=json.dumps({"answer": ANSWER}))
    return types.CreateMessageResult(role="assistant", model="the-clients-own", content=text)


async def never(context: Any, params: Any) -> Any:
    await anyio.sleep(2 * PATIENCE)


def asked(sluice: Serving, transport: str, era: str, sampler: Any, **more: Any) -> dict[str, Any]:
    async def asked() -> types.CallToolResult:
        async with Client(TRANSPORTS[transport](sluice), mode=era, sampling_callback=sampler) as client:
            return await client.call_tool("dbp_general_query", {**QUESTION, **more})

    result = anyio.run(asked)
    assert not result.is_error
    answer: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    return answer


@pytest.mark.parametrize(
    ("transport", "era"),
    [
        ("websocket", "legacy"),
        ("websocket", "2026-07-28"),
        ("stdio", "legacy"),
        ("stdio", "2026-07-28"),
        ("http", "2026-07-28"),
    ],
)
def test_the_clients_model_answers(sluice: Serving, transport: str, era: str):
    answer = asked(sluice, transport, era, sample)
    assert answer["metadata"]["incomplete"] == []
    assert answer["results"]["answer"] == ANSWER
    assert answer["metadata"]["modelsUsed"] == ["the-clients-own"]


def test_any_process_takes_the_answer_of_the_clients_model(sluice: Serving):
    async def asked_here_and_answered(there: Serving) -> Any:
        async with Client(over_http(sluice), mode="2026-07-28", sampling_callback=sample) as client:
            asked = await client.session.call_tool("dbp_general_query", QUESTION, allow_input_required=True)
        response = await sample(None, asked.input_requests["question"].params)  # type: ignore[union-attr,index,arg-type]
        async with Client(over_http(there), mode="2026-07-28", sampling_callback=sample) as client:
            return await client.session.call_tool(
                "dbp_general_query",
                QUESTION,
                input_responses={"question": response},
                request_state=asked.request_state,
            )

    with web(sluice.environment) as other:
        result = anyio.run(asked_here_and_answered, replace(sluice, base=other))
    assert json.loads(result.content[0].text)["results"]["answer"] == ANSWER


def test_over_http_before_2026_it_answers_in_a_session(stateful: Serving):
    answer = asked(stateful, "http", "legacy", sample)
    assert answer["results"]["answer"] == ANSWER


def test_over_http_before_2026_without_a_session_the_local_answer_is_given(sluice: Serving):
    answer = asked(sluice, "http", "legacy", sample)
    assert answer["results"]["text"].startswith("src/parser.py:")
    assert "does not offer sampling" in answer["metadata"]["incomplete"][0]


def test_a_model_that_does_not_answer_holds_nobody_longer_than_the_timeout(sluice: Serving):
    asked(sluice, "websocket", "legacy", sample)  # the processes that answer have started
    metadata = asked(sluice, "websocket", "legacy", never, timeout=6)["metadata"]
    assert metadata["executionTimeMs"] < PATIENCE * 1000
    assert "did not answer within" in metadata["incomplete"][0]
