"""What fits its budget is passed on as it came; pictures are counted, and what cannot be content is linked."""

import base64
import json
from typing import Any

import mcp.types as types
import pytest

from context_protection.configuration.revisions import revisions
from context_protection.core import pictures, tokens
from context_protection.models import TokenBudget
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.mcp_servers.test_answers_of_tools import file_at
from tests.simulators import mcp_server as simulator

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sim")]
HARD_CAP = 12_000


def cost(result: types.CallToolResult) -> int:
    """Claude's tokens of all that the model reads."""
    used = 0
    for block in result.content:
        if isinstance(block, types.ImageContent):
            size = pictures.size_of(base64.b64decode(block.data))
            used += size.tokens if size else pictures.MAX_TOKENS
        elif isinstance(block, types.TextContent):
            used += tokens.claude.count(block.text)
        elif not isinstance(block, types.AudioContent):
            used += tokens.claude.count(block.model_dump_json(by_alias=True, exclude_none=True))
    return used


def sent(tool: str) -> list[types.ContentBlock]:
    answer: Any = simulator.PLAIN[tool]
    if isinstance(answer, str):
        return [types.TextContent(type="text", text=answer)]
    return list(answer.content if isinstance(answer, types.CallToolResult) else answer)


def test_a_result_that_fits_comes_as_it_was_with_its_figures_beside(doors: Doors):
    result = doors.called("sim_echo", {"marker": "hello", "api_limit": 3})
    (block,) = result.content
    assert json.loads(block.text) == {"marker": "hello", "limit": 3}, "a database may change the order of arguments"
    assert result.structured_content is None
    estimated = tokens.formula(block.text)
    assert {name: result.meta[name] for name in ("estimatedTokens", "budgetUsed", "budgetRemaining")} == {
        "estimatedTokens": estimated,
        "budgetUsed": round(estimated / 4000, 4),
        "budgetRemaining": 4000 - estimated,
    }


@pytest.mark.parametrize("tool", ["small", "blocks", "twice", "empty", "picture", "sound"])
def test_no_block_is_touched(doors: Doors, tool: str):
    assert doors.called(f"sim_{tool}").content == sent(tool)


def test_rest_has_an_envelope(doors: Doors):
    answer = doors.post("sim_echo", {"marker": "hello", "api_limit": 3})
    assert crawler.own(answer) == {"marker": "hello", "limit": 3}
    assert answer["meta"]["kind"] == "full"


def test_who_asks_for_a_form_gets_an_envelope(doors: Doors):
    answer = json.loads(doors.called("sim_row_blocks", {"where": {"id": 1003}}).content[0].text)
    assert [row["id"] for row in answer["items"]] == [1003]


def test_what_holds_a_withheld_field_is_not_passed_on(doors: Doors):
    TokenBudget.objects.create(connector="mcp_servers", withheld_fields="marker")
    revisions.bump()
    (block,) = doors.called("sim_echo", {"marker": "hello"}).content
    assert "hello" not in block.text
    assert json.loads(block.text)["meta"]["withheld"] == ["marker"]


def test_what_holds_a_secret_is_not_passed_on(doors: Doors):
    (block,) = doors.called("sim_secret").content
    assert "hunter2" not in block.text
    assert json.loads(block.text)["meta"]["withheld"] == ["wifiPassword"]


def test_a_picture_is_counted_by_the_formula(doors: Doors):
    result = doors.called("sim_picture")
    assert result.meta["pictureTokens"] == 600 * 400 // 750
    assert result.meta["estimatedTokens"] == 320 + tokens.formula("A chart.")


def test_pictures_beyond_the_cap_are_links(doors: Doors):
    result = doors.called("sim_album")
    kinds = [block.type for block in result.content]
    # Seven pictures cost 10,269 tokens and eight 11,736. The cap's margin leaves 11,650. Five links cost about 460:
    # some tokens more or less, as their names are random.
    assert kinds == ["image"] * 7 + ["resource_link"] * 5
    assert cost(result) <= HARD_CAP
    pictures_sent = [base64.b64decode(block.data) for block in sent("album")]
    assert [file_at(doors, block.uri) for block in result.content[7:]] == pictures_sent[7:]


@pytest.mark.parametrize(("tool", "place"), [("large_picture", 1), ("drawing", 0), ("large_sound", 0), ("blob", 0)])
def test_what_cannot_be_content_is_a_link_that_can_be_read(doors: Doors, tool: str, place: int):
    link, original = doors.called(f"sim_{tool}").content[place], sent(tool)[place]
    data = original.resource.blob if isinstance(original, types.EmbeddedResource) else original.data
    assert isinstance(link, types.ResourceLink)
    assert link.size == len(base64.b64decode(data))
    assert file_at(doors, link.uri) == base64.b64decode(data)


@pytest.mark.parametrize(
    ("tool", "defect", "content"),
    [
        ("no_picture", "not a valid picture", b"<html>Log in</html>"),
        ("no_base64", "not valid base64", b"%PNG not base64"),
    ],
)
def test_a_picture_that_is_none_is_a_link_that_can_be_read(doors: Doors, tool: str, defect: str, content: bytes):
    text, link = doors.called(f"sim_{tool}").content
    assert text == sent(tool)[0]
    assert isinstance(link, types.ResourceLink)
    assert link.description == f"{defect}, {len(content)} bytes; resources/read returns it"
    assert link.size == len(content)
    assert file_at(doors, link.uri) == content
    blocks = doors.post(f"sim_{tool}", {})["items"]
    assert blocks[1]["data"] == sent(tool)[1].data, "REST has the block as it came"


def test_a_list_fills_its_pages(doors: Doors):
    """Like any list whose rows nobody declared: 800 short rows of an answer of another server."""
    first = doors.mcp("sim_short_rows", {})
    assert len(first["items"]) > 50
    assert first["meta"]["estimatedTokens"] <= 4000
    rows, answer = list(first["items"]), first
    while cursor := answer.get("nextCursor"):
        answer = doors.mcp("sim_short_rows", {"cursor": cursor})
        rows += answer["items"]
    assert [row["n"] for row in rows] == list(range(800))
    assert len(doors.mcp("sim_short_rows", {"limit": 20})["items"]) == 20


def test_a_picture_follows_a_text_that_is_cut(doors: Doors):
    text, picture = doors.called("sim_picture_and_prose").content
    assert picture == sent("picture_and_prose")[1]
    rows = json.loads(text.text)
    assert "data" not in json.dumps(rows["items"][1])


def test_the_cap_holds_over_text_and_pictures_together(doors: Doors):
    TokenBudget.objects.create(operation="sim_album", hard_cap=1000, token_budget_threshold=1000)
    revisions.bump()
    result = doors.called("sim_album")
    assert cost(result) <= 1000


def test_nobody_else_reads_a_file(doors: Doors):
    link = doors.called("sim_blob").content[0]
    other = doors.read(link.uri.replace("files/", "files/x"))
    assert other["error"]["message"] == "There is no such file, or it has expired."
    handle = link.uri.rpartition("/")[2]
    assert doors.mcp("result_get", {"handle": handle})["error"]["reason"] == "handle_invalid"
    doors.choose(hidden_tools=["sim_blob"])
    assert "error" in doors.read(link.uri)


def test_an_error_of_a_tool_comes_as_it_was(doors: Doors):
    result = doors.called("sim_picture_error")
    assert result.is_error
    assert result.content == sent("picture_error")


def test_a_long_error_is_read_to_its_end(doors: Doors):
    result = doors.called("sim_long_error")
    answer = json.loads(result.content[0].text)
    assert result.is_error
    assert (answer["error"]["code"], answer["chunkIndex"]) == (-32000, 0)
    assert tokens.claude.count(result.content[0].text) <= HARD_CAP
    assert crawler.text(doors.mcp, "sim_long_error", {}) == simulator.ERROR


def test_a_long_error_has_a_status_over_rest(doors: Doors):
    assert crawler.text(doors.post, "sim_long_error", {}) == simulator.ERROR
    assert doors.post("sim_long_error", {})["error"]["reason"] == "upstream_refused"
