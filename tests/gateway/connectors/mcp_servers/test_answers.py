"""What tools answer, as data: said once, however often a server says it, and never less than it says."""

import base64
import json
import math
from typing import Any

import mcp.types as types
import pytest

from gateway.connectors.mcp_servers.answers import read, table

ROWS = [{"id": 1}, {"id": 2}]
PICTURE = types.ImageContent(type="image", data=base64.b64encode(b"pixels").decode(), mime_type="image/png")


def result(*blocks: Any, structured: Any = None) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=each) if isinstance(each, str) else each for each in blocks]
    return types.CallToolResult(content=content, structured_content=structured)


@pytest.mark.parametrize(
    ("blocks", "structured", "answer"),
    [
        (["one\ntwo"], {"content": "one\ntwo"}, "one\ntwo"),
        (["one\ntwo"], {"result": "one\ntwo"}, "one\ntwo"),
        ([json.dumps(ROWS)], {"content": json.dumps(ROWS)}, ROWS),
        ([json.dumps(ROWS)], {"result": ROWS}, ROWS),
        ([json.dumps(ROWS)], {"rows": ROWS}, {"rows": ROWS}),
        ([json.dumps(each) for each in ROWS], {"result": ROWS}, ROWS),
        (['{"name": "Seven"}'], {"name": "Seven"}, {"name": "Seven"}),
        (['{"result": "Seven"}'], {"result": "Seven"}, "Seven"),
        (["5"], {"result": 5}, {"result": 5}),
        (["5"], {"n": 5}, {"n": 5}),
        ([], {"name": "Seven"}, {"name": "Seven"}),
    ],
)
def test_what_is_said_twice_is_kept_once(blocks: Any, structured: Any, answer: Any):
    assert read(result(*blocks, structured=structured)) == answer


def test_blocks_that_are_said_twice_are_kept_once():
    sent = PICTURE.model_dump(mode="json", by_alias=True, exclude_none=True)
    picture = read(result(PICTURE, structured={"content": [sent]}))
    assert isinstance(picture, dict)
    assert (picture["type"], picture["bytes"], picture["data"]) == ("image", 6, PICTURE.data)
    several = read(
        result("A picture.", PICTURE, structured={"content": [{"type": "text", "text": "A picture."}, sent]})
    )
    assert [each["type"] for each in several] == ["text", "image"]


@pytest.mark.parametrize(
    ("blocks", "structured"),
    [
        (["one"], {"content": "two"}),
        (["one"], {"content": "one", "more": 1}),
        (["one", "two"], {"content": "one"}),
        (["one", PICTURE], {"content": "one"}),
        ([json.dumps(ROWS[:1])], {"result": ROWS}),
        (["1"], {"result": "2"}),
    ],
)
def test_what_differs_is_kept_beside_each_other(blocks: Any, structured: Any):
    answer = read(result(*blocks, structured=structured))
    assert isinstance(answer, dict)
    assert answer["structuredContent"] == structured
    assert len(answer["blocks"]) == len(blocks)


def test_what_no_json_of_ours_can_say_is_said_as_a_text():
    assert read(result(structured={"n": 10**30, "small": 7})) == {"n": str(10**30), "small": 7}
    deep: dict[str, Any] = {"name": "inside"}
    for _ in range(150):
        deep = {"a": deep}
    answer = read(result(structured=deep))
    assert json.loads(str(answer)) == deep


def test_rows_and_what_stands_beside_them_are_the_whole_object():
    rows = [{"id": number, "text": "word " * 20} for number in range(200)]
    found = table({"ok": True, "page": {"total": 200, "rows": rows}}, wanted=False)
    assert found is not None
    assert found.rows == rows
    assert found.rest == {"ok": True, "page": {"total": 200}}


@pytest.mark.parametrize(
    "answer",
    [
        {"a": ROWS, "b": ROWS},
        {"a": [1, 2, 3]},
        {"a": []},
        {"a": [{"id": 1}, 2]},
        {"rows": ROWS, "rest": "x" * 3000},
        {"a": {"rows": ROWS}, "b": {"rows": ROWS}},
    ],
)
def test_an_object_without_one_list_of_objects_has_no_rows(answer: Any):
    assert table(answer, wanted=True) is None


def test_an_empty_list_has_no_rows_and_is_a_list():
    found = table([], wanted=True)
    assert found is not None
    assert found.rows == []


@pytest.mark.parametrize("repeated", [(), ('{"a": NaN, "b": -Infinity, "c": null}',)])
def test_numbers_that_json_lacks_are_texts_and_not_null(repeated: tuple[str, ...]):
    structured = {"a": math.nan, "b": -math.inf, "c": None}
    assert read(result(*repeated, structured=structured)) == {"a": "NaN", "b": "-Infinity", "c": None}
