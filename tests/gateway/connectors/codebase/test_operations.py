"""The codebase tools as callers have them, over REST and MCP."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from context_protection.configuration.revisions import revisions
from context_protection.core.policy import DEFAULTS
from context_protection.core.tokens import claude
from gateway.access.keys import digest
from gateway.access.models import ApiKey
from gateway.catalog.catalog import catalogue
from gateway.connectors.codebase import operations as codebase
from gateway.connectors.codebase.models import IndexState
from gateway.connectors.codebase.progress import IndexStatus
from gateway.connectors.codebase.schemas.query_response import GENERAL_QUERY_RESPONSE
from gateway.connectors.codebase.schemas.validation import AnswerInvalid, AnswerSchema
from tests.doors import Doors
from tests.gateway.connectors.codebase.conftest import Register
from tests.gateway.connectors.codebase.test_processes import never_end

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped")]

QUERY, COMMIT = "dbp_general_query", "dbp_commit_message"
MOST_TOKENS = 900  # of both tools in a tool list


def ask(doors: Doors, query: Any, **arguments: Any) -> dict[str, Any]:
    return doors.post(QUERY, {"query": query, **arguments})


def test_no_tool_is_offered_without_a_project(register: Register):
    assert codebase.operations() == []
    register("shop")
    assert [each.name for each in codebase.operations()] == [QUERY, COMMIT]


def test_tool_lists_spend_little_on_them(register: Register):
    register("shop")
    spent = 0
    for each in codebase.operations():
        schema, said = each.listed_schema(DEFAULTS), each.published_description(DEFAULTS)
        tool = {"name": each.name, "description": said, "inputSchema": schema}
        spent += claude.count(orjson.dumps(tool).decode())
    assert spent <= MOST_TOKENS


def test_a_question_is_answered_at_every_transport(offered: None, doors: Doors):
    arguments = {"query": "How is a header parsed?", "responseFormat": "JSON"}
    by_rest, by_mcp = doors.post(QUERY, arguments), doors.mcp(QUERY, arguments)
    assert by_rest["results"] == by_mcp["results"]
    assert by_rest["results"]["matches"][0]["path"] == "src/parser.py"
    assert by_rest["metadata"]["backgroundTaskProgress"]["status"] == "Complete"


def test_a_large_result_is_a_preview_with_a_handle(offered: None, doors: Doors, tmp_path: Path):
    (tmp_path / "shop" / "src" / "big.py").write_text("".join(f"value_{line} = {line}\n" for line in range(900)))
    path = {"operation": "outline", "path": "src/big.py", "limit": 1000}
    answer = doors.mcp(QUERY, {"query": path, "responseFormat": "JSON"})
    assert answer["meta"]["kind"] == "preview"
    rest = doors.mcp(
        "result_get", {"handle": answer["meta"]["resultHandle"], "path": "results.symbols", "rows": "890-899"}
    )
    assert [row["name"] for row in rest["items"]] == [f"value_{line}" for line in range(890, 900)]


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x", "timeout": 0}, "timeout"),
        ({"query": "x", "timeout": "5"}, "timeout"),
        ({"query": "x", "maxCost": 11}, "maxCost"),
        ({"query": "x", "files": []}, "files"),
        ({"query": "x", "scope": {"directories": ["../x"]}}, "scope.directories"),
        ({"query": {"operation": "outline", "path": "/etc/passwd"}}, "query.path"),
        ({"query": "x", "project": "other"}, "project"),
    ],
)
def test_a_wrong_argument_is_named(offered: None, doors: Doors, arguments: dict[str, Any], parameter: str):
    error = doors.post(QUERY, arguments)["error"]
    assert error["data"]["parameter"] == parameter
    assert error["data"]["suggestion"]


def test_the_advice_about_a_project_works(offered: None, register: Register, doors: Doors):
    register("web")
    refused = ask(doors, "parse a header")["error"]
    assert refused["reason"] == "invalid_project"
    assert refused["data"]["expected"] == "one of: shop, web"
    assert ask(doors, "parse a header", project="shop")["results"]
    assert ask(doors, "parse a header", project="wep")["error"]["data"]["suggestion"] == "Set project to web."


def test_a_key_asks_about_its_projects_alone(offered: None, register: Register, doors: Doors):
    register("web")
    doors.choose(reads_all_projects=False, projects=["web"])
    assert ask(doors, "parse a header", project="shop")["error"]["data"]["expected"] == "one of: web"
    assert ask(doors, "parse a header")["results"]


def test_a_key_without_projects_is_told_so(offered: None, doors: Doors):
    ApiKey.objects.filter(digest=digest(doors.key)).update(reads_all_projects=False, projects=[])
    revisions.bump()
    assert ask(doors, "parse a header")["error"]["reason"] in ("no_project", "unknown_operation")


def test_a_project_whose_folder_is_gone_is_named(offered: None, doors: Doors, tmp_path: Path):
    (tmp_path / "shop").rename(tmp_path / "elsewhere")
    assert ask(doors, "parse a header")["error"]["reason"] == "project_unreadable"


def test_an_index_that_is_not_complete_makes_the_answer_partial(offered: None, doors: Doors):
    IndexState.objects.update(status=IndexStatus.IN_PROGRESS, percent=40, processed_files=2)
    metadata = ask(doors, "parse a header", timeout=1)["metadata"]
    assert metadata["isPartialResult"] is True
    assert metadata["incomplete"]
    assert metadata["backgroundTaskProgress"]["percentComplete"] == 40


def test_work_that_does_not_stop_in_time_is_stopped(offered: None, doors: Doors, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(codebase, "query_work", never_end)
    answer = ask(doors, "parse a header", timeout=1)
    assert answer["metadata"]["isPartialResult"] is True
    assert answer["metadata"]["budgetExceeded"] is True
    assert answer["metadata"]["totalCost"] <= 1.0


def test_an_answer_that_breaks_its_schema_does_not_leave():
    with pytest.raises(AnswerInvalid, match="metadata"):
        AnswerSchema(GENERAL_QUERY_RESPONSE).checked({"results": {"text": ""}, "metadata": {}, "suggestions": []})


def test_the_published_schema_has_every_operation(offered: None):
    schema = catalogue.get(QUERY).described_schema(DEFAULTS)
    assert set(schema["properties"]["query"]["$defs"]) == {
        "findSymbol",
        "findReferences",
        "listFiles",
        "grep",
        "outline",
        "history",
        "changedSince",
    }


# -- dbp_commit_message ---------------------------------------------------------------------------------


def test_a_message_is_written_at_every_transport(offered: None, doors: Doors, tmp_path: Path):
    (tmp_path / "shop" / "src" / "parser.py").write_text("def parse_all(text):\n    return text\n")
    by_rest, by_mcp = doors.post(COMMIT, {"includeImpact": True}), doors.mcp(COMMIT, {"includeImpact": True})
    assert by_rest["commitMessage"] == by_mcp["commitMessage"]
    assert by_rest["changedFiles"][0]["path"] == "src/parser.py"
    assert by_rest["impactAnalysis"]["severity"] == "Major"
    assert by_rest["metadata"]["backgroundTaskProgress"]["status"] == "Complete"


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"sinceCommit": "0" * 40}, "sinceCommit"),
        ({"sinceCommit": ""}, "sinceCommit"),
        ({"sinceCommit": "a\0b"}, "sinceCommit"),
        ({"sinceDiff": ""}, "sinceDiff"),
        ({"sinceDiff": "x" * 1_000_001}, "sinceDiff"),
        ({"sinceDiff": "ü" * 600_000}, "sinceDiff"),
        ({"sinceDiff": "--- ../x\n+++ ../x\n@@ -1 +1 @@\n-a\n+b\n"}, "sinceDiff"),
        ({"sinceDiff": "--- x\n", "sinceCommit": "HEAD"}, "sinceCommit"),
        ({"maxLength": 19}, "maxLength"),
        ({"maxCost": 0}, "maxCost"),
        ({"scope": "a)b"}, "scope"),
        ({"format": "Short"}, "format"),
        ({"since": "HEAD"}, "since"),
    ],
)
def test_a_wrong_argument_of_a_message_is_named(offered: None, doors: Doors, arguments: dict[str, Any], parameter: str):
    error = doors.post(COMMIT, arguments)["error"]
    assert error["data"]["parameter"] == parameter
    assert error["data"]["suggestion"]


def test_a_message_that_is_not_written_in_time_is_an_error(
    offered: None, doors: Doors, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(codebase, "commit_message_work", never_end)
    monkeypatch.setattr(codebase, "MAX_SECONDS", 1)
    assert doors.post(COMMIT, {})["error"]["reason"] == "timeout"
