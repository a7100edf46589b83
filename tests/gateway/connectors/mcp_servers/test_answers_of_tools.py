"""What another server's tools answer arrives protected, and whole: every leaf of it can be had by what the answers say,
and no tool is called a second time for it."""

import base64
import json
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from gateway.access.models import ApiKey
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.mcp_servers.conftest import CHILD, Configure
from tests.losing import lose
from tests.simulators import mcp_server as simulator

pytestmark = pytest.mark.django_db
HARD_CAP = 12_000


class Capped:
    """A door that looks at the size of each answer."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self.answers = 0
        self.asked: dict[str, tuple[str, Any]] = {}  # by the cursor of the answer

    def __call__(self, operation: str, arguments: Any) -> dict[str, Any]:
        answer = self.doors.mcp(operation, arguments)
        self.answers += 1
        assert tokens.claude.count(json.dumps(answer, ensure_ascii=False)) <= HARD_CAP
        if "nextCursor" in answer:
            self.asked[answer["nextCursor"]] = operation, arguments
        return answer


@pytest.fixture
def call(doors: Doors, sim: None) -> Capped:
    return Capped(doors)


def called(call: Capped) -> dict[str, int]:
    counts: dict[str, int] = crawler.own(call("sim_calls", {}))
    return counts


def rows_of(call: Capped, answer: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """All whole rows, from where the answer says that they are; one that is too large for an answer, in its parts."""
    if "detailsAvailable" in answer["meta"]:
        operation, arguments = crawler.details(answer["meta"]["detailsAvailable"])
        rows = crawler.walk(call, operation, {**arguments, **more})
    else:
        rows = list(crawler.rows(answer))
        while "nextCursor" in answer:
            operation, arguments = call.asked[answer["nextCursor"]]
            answer = call(operation, {**arguments, "cursor": answer["nextCursor"]})
            rows += crawler.rows(answer)
    return [
        crawler.from_parts(call, *crawler.details(row["detailsAvailable"])) if "detailsAvailable" in row else row
        for row in rows
    ]


def file_at(doors: Doors, uri: str) -> bytes:
    (content,) = doors.ask(lambda client: client.read_resource(uri)).contents
    return base64.b64decode(content.blob)


def record_of(call: Capped, answer: dict[str, Any]) -> dict[str, Any]:
    operation, arguments = crawler.details(answer["meta"]["detailsAvailable"])
    return crawler.from_parts(call, operation, arguments)


@pytest.mark.parametrize("tool", ["rows", "wrapped", "structured_rows", "json_lines"])
def test_every_row_of_a_long_list_is_had(call: Capped, tool: str):
    answer = call(f"sim_{tool}", {})
    assert answer["meta"]["totalCount"] == 800
    assert rows_of(call, answer) == simulator.rows()


def test_a_page_goes_on_where_it_says(call: Capped):
    before = called(call).get("rows", 0)
    walked = crawler.walk(call, "sim_rows", {"limit": 20})
    assert [row["id"] for row in walked] == list(range(1000, 1800))
    assert called(call)["rows"] == before + 1


def test_what_stands_beside_a_list_is_told(call: Capped):
    assert call("sim_wrapped", {})["meta"]["beside"] == {"ok": True, "data": {"total": 800}}


def test_rows_can_be_chosen_when_a_tool_is_called(call: Capped):
    answer = call("sim_rows", {"where": {"state": "waiting", "amount": {"gte": 900}}})
    expected = [row for row in simulator.rows() if row["state"] == "waiting" and row["amount"] >= 900]
    assert len(crawler.rows(answer)) == len(expected)
    assert rows_of(call, answer) == expected


def test_a_short_object_is_given_as_it_is(call: Capped):
    answer = call("sim_small", {})
    assert crawler.own(answer) == {"id": 7, "name": "Seven"}
    assert "resultHandle" not in crawler.ours(answer)


@pytest.mark.parametrize("tool", ["record", "structured", "structured_only"])
def test_every_leaf_of_a_large_object_is_had(call: Capped, tool: str):
    answer = call(f"sim_{tool}", {})
    assert answer["meta"]["kind"] == "preview"
    assert record_of(call, answer) == simulator.record()


@pytest.mark.parametrize(("tool", "text"), [("prose", simulator.prose()), ("log", simulator.log())])
def test_a_text_is_the_same_when_its_chunks_are_put_together(call: Capped, tool: str, text: str):
    before = called(call).get(tool, 0)
    assert crawler.text(call, f"sim_{tool}", {}) == text
    assert called(call)[tool] == before + 1


def test_broken_json_arrives_whole(call: Capped):
    assert crawler.text(call, "sim_broken", {}) == simulator.BROKEN


@pytest.mark.parametrize("tool", ["twice", "deep"])
def test_json_that_could_not_be_told_again_stays_a_text(call: Capped, tool: str):
    assert call.doors.called(f"sim_{tool}").content[0].text == simulator.PLAIN[tool]
    assert call.doors.post(f"sim_{tool}", {})["content"] == simulator.PLAIN[tool]


def test_blocks_that_are_rows_are_a_list(call: Capped):
    assert rows_of(call, call("sim_row_blocks", {})) == simulator.rows(300)


def test_several_blocks_stay_apart(call: Capped):
    blocks = call.doors.post("sim_blocks", {})["items"]
    assert [block["text"] for block in blocks] == ["First.", "Second.", '{"third": 3}']
    assert call.doors.post("sim_empty", {})["items"] == []


def test_structured_content_and_other_words_are_both_kept(call: Capped):
    answer = crawler.own(call.doors.post("sim_structured_other", {}))
    assert answer == {"structuredContent": {"n": 1}, "blocks": [{"type": "text", "text": "See the data."}]}
    blocks = call.doors.called("sim_structured_other").content
    assert [block.text for block in blocks] == ["See the data.", '{"n":1}']


def test_a_result_that_breaks_its_own_schema_is_given_nevertheless(call: Capped):
    assert crawler.own(call("sim_lies", {})) == {"n": "one"}


def test_media_are_described_and_can_be_had(call: Capped):
    blocks = rows_of(call, call("sim_media", {}))
    assert [block["type"] for block in blocks] == ["text", "image", "audio", "resource", "resource", "resource_link"]
    for block in blocks[1:4]:
        assert file_at(call.doors, block["link"]) == simulator.PIXELS
        assert "data" not in block
    assert blocks[1]["bytes"] == len(simulator.PIXELS)
    assert len(blocks[1]["sha256"]) == 64


def test_rest_has_media_in_its_json(call: Capped):
    rest = call.doors.post
    operation, arguments = crawler.details(rest("sim_media", {})["meta"]["detailsAvailable"])
    picture = crawler.walk(rest, operation, arguments)[1]
    whole = crawler.from_parts(rest, *crawler.details(picture["detailsAvailable"]))
    assert base64.b64decode(whole["data"]) == simulator.PIXELS


def test_an_action_is_called_once_however_much_of_its_answer_is_read(call: Capped):
    before = called(call).get("report", 0)
    answer = call("sim_report", {})
    handle = answer["meta"]["resultHandle"]
    assert rows_of(call, answer) == simulator.rows()
    assert call("result_get", {"handle": handle, "rows": "17"})["id"] == 1017
    assert call("result_search", {"handle": handle, "text": "Remark 799"})["items"][0]["row"] == 799
    found = call("result_query", {"handle": handle, "sql": "SELECT count(*) AS n FROM rows WHERE state = 'open'"})
    assert crawler.rows(found) == [{"n": 267}]
    assert called(call)["report"] == before + 1


def test_more_detail_is_had_from_the_result_and_not_from_the_tool(call: Capped):
    for name, arguments in (("report", {"of": "record"}), ("record", {})):
        answer = call(f"sim_{name}", arguments)
        tool, more = crawler.details(answer["meta"]["detailsAvailable"])
        assert (tool, more["handle"]) == ("result_get", answer["meta"]["resultHandle"])
        assert f"sim_{name}" not in json.dumps(answer)


def test_a_text_is_read_by_lines_and_searched(call: Capped):
    before = called(call).get("log", 0)
    handle = call("sim_log", {})["meta"]["resultHandle"]
    lines = simulator.log().splitlines(keepends=True)
    read = crawler.text(call, "result_get", {"handle": handle, "startLine": 1500, "endLine": 2900})
    assert read == "".join(lines[1499:2900])
    hit = call("result_search", {"handle": handle, "text": "job 2345"})["items"][0]
    assert hit["line"] == 2346
    assert crawler.text(call, "result_get", {"handle": handle}) == simulator.log()
    assert called(call)["log"] == before + 1


def test_a_text_within_a_record_is_had(call: Capped):
    handle = call("sim_media", {})["meta"]["resultHandle"]
    path = {"handle": handle, "path": "[4].resource.text", "fields": "all"}
    assert crawler.from_parts(call, "result_get", path) == {"value": simulator.prose()}


def test_a_text_of_30_mb_is_asked_for_once_and_goes_on(call: Capped):
    before = called(call).get("huge", 0)
    answer = call("sim_huge", {})
    assert answer["metadata"]["totalLines"] == 1
    second = call("sim_huge", {"cursor": answer["nextCursor"]})
    assert second["chunkIndex"] == 1
    assert second["totalChunks"] == answer["totalChunks"]
    assert set(second["content"]) == {"x"}
    assert called(call)["huge"] == before + 1


def test_conditions_on_an_answer_without_rows_are_refused(call: Capped):
    error = call("sim_small", {"where": {"id": 7}})["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("invalid_where", "where")


def test_what_one_caller_was_answered_no_other_reads(call: Capped, doors: Doors):
    answer = call("sim_log", {})
    handle, cursor = answer["meta"]["resultHandle"], answer["nextCursor"]
    _, other = ApiKey.objects.issue("other")
    revisions.bump()
    stranger = Doors(other)
    for operation, more in (("result_get", {}), ("result_get", {"startLine": 1}), ("result_search", {"text": "job"})):
        assert stranger.mcp(operation, {"handle": handle, **more})["error"]["reason"] == "handle_invalid"
    refused = stranger.mcp("sim_log", {"cursor": cursor})
    assert refused["error"]["reason"] == "cursor_invalid"


def test_what_a_tool_answered_is_closed_when_the_tool_is_hidden(call: Capped, doors: Doors):
    answer = call("sim_log", {})
    doors.choose(hidden_tools=["sim_log"])
    handle = {"handle": answer["meta"]["resultHandle"]}
    assert call("result_get", handle)["error"]["reason"] == "handle_invalid"
    assert call("result_search", {**handle, "text": "job"})["error"]["reason"] == "handle_invalid"
    assert call("sim_log", {"cursor": answer["nextCursor"]})["error"]["reason"] == "unknown_operation"


def test_rest_is_answered_the_same_and_goes_on_in_its_own_form(call: Capped, doors: Doors):
    over_mcp, over_rest = call("sim_prose", {}), doors.post("sim_prose", {})
    assert over_rest["content"] == over_mcp["content"]
    assert crawler.text(doors.post, "sim_prose", {}) == simulator.prose()
    rows = doors.post("sim_rows", {})
    assert crawler.rows(rows) == crawler.rows(call("sim_rows", {}))
    handle = {"handle": rows["meta"]["resultHandle"]}
    assert crawler.walk(doors.post, "result_get", handle) == simulator.rows()
    assert crawler.own(doors.post("sim_small", {})) == {"id": 7, "name": "Seven"}


def test_the_same_is_answered_over_http_and_by_older_servers(doors: Doors, configure: Configure):
    with simulator.mcp_server() as new, simulator.mcp_server(era="2025", json_response=True) as old:
        configure(sim=CHILD, new={"url": new}, old={"url": old}, aged={**CHILD, "env": {"ERA": "2025"}})
        for tool in ("small", "rows", "log", "record", "media"):
            answers = [doors.mcp(f"{server}_{tool}", {}) for server in ("sim", "new", "old", "aged")]
            essence = [{**each, "meta": None, "nextCursor": None} for each in answers]
            assert essence.count(essence[0]) == 4
        configure()


def test_a_handle_of_a_tool_that_only_reads_leads_back_to_it(doors: Doors, sim: None):
    handle = doors.mcp("sim_rows", {})["meta"]["resultHandle"]
    lose(handle)
    error = doors.mcp("result_get", {"handle": handle})["error"]
    assert error["reason"] == "handle_expired"
    assert error["data"]["suggestion"].startswith('Call sim_rows with {"format":"handle"} again')


@pytest.mark.parametrize(("tool", "total"), [("rows", 800), ("wrapped", 800), ("small", 1)])
def test_a_tools_answer_can_be_had_as_a_handle_and_joined_with_our_own_lists(
    doors: Doors, sim: None, tool: str, total: int
):
    answer = doors.mcp(f"sim_{tool}", {"format": "handle"})
    assert (answer["meta"]["kind"], answer["meta"]["totalCount"]) == ("handle", total)
    assert tokens.claude.count(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= 220
    listings = doors.mcp("list_listings", {"format": "handle"})["meta"]["resultHandle"]
    handles = {"s": answer["meta"]["resultHandle"], "l": listings}
    sql = "SELECT count(DISTINCT s.id) AS s, count(DISTINCT l.id) AS l FROM s CROSS JOIN l"
    assert doors.mcp("result_query", {"handles": handles, "sql": sql})["items"] == [{"s": total, "l": 12}]
