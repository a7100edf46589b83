"""What does something is done once, however much it answers, and however much of that is asked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.rows import MemoryRows
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from tests import crawler
from tests.doors import Doors
from tests.losing import lose


class Done:
    """Counts how often it was done, and answers with `payload`."""

    def __init__(self, payload: Callable[[], Payload]) -> None:
        self.payload, self.times = payload, 0

    async def __call__(self, arguments: Mapping[str, Any], caller: Caller) -> Payload:
        self.times += 1
        return self.payload()


@pytest.fixture
def offered() -> Iterator[Callable[[Callable[[], Payload]], Done]]:
    def offer(payload: Callable[[], Payload]) -> Done:
        done = Done(payload)

        async def fetch(arguments: Mapping[str, Any], caller: Caller) -> Payload:
            return await done(arguments, caller)

        operation = Operation(
            name="do_something",
            title="Do something",
            description="Does something.",
            kind=Kind.ACTION,
            parameters={"what": {"type": "string"}},
            required=("what",),
            fetch=fetch,
            endpoint="/api/v1/tools/do_something",
            destructive=True,
        )
        catalogue.offer([operation])
        return done

    yield offer
    catalogue.withdraw("do_something")


def rows() -> Payload:
    return MemoryRows([{"id": number, "name": f"Row {number}", "text": "word " * 50} for number in range(300)])


def record() -> Payload:
    return Record({"id": 1, "done": True, **{f"part{number}": {"text": "word " * 400} for number in range(40)}})


def test_rows_of_an_action_are_paged_without_doing_it_again(doors: Doors, offered: Any):
    done = offered(rows)
    walked = crawler.walk(doors.post, "do_something", {"what": "this"})
    assert [row["id"] for row in walked] == list(range(300))
    assert done.times == 1


def test_whole_rows_of_an_action_come_from_its_result(doors: Doors, offered: Any):
    done = offered(rows)
    first = doors.mcp("do_something", {"what": "this"})
    more = first["meta"]["detailsAvailable"]
    assert more["tool"] == "result_get"
    whole = crawler.walk(doors.mcp, more["tool"], more["arguments"])
    assert [(row["id"], row["text"]) for row in whole] == [(number, "word " * 50) for number in range(300)]
    assert done.times == 1


def test_a_record_of_an_action_is_whole_by_its_sections_and_by_its_parts(doors: Doors, offered: Any):
    done = offered(record)
    preview = doors.mcp("do_something", {"what": "this"})
    assert preview["meta"]["kind"] == "preview"
    tool, arguments = crawler.details(preview["meta"]["detailsAvailable"])
    expected = record()
    assert isinstance(expected, Record)
    assert crawler.from_parts(doors.mcp, tool, arguments) == expected.value
    by_sections: dict[str, Any] = {}
    for section in preview["meta"]["detailsAvailable"]["sections"]:
        by_sections.update(crawler.from_parts(doors.mcp, tool, {**arguments, "fields": section}))
    assert by_sections == expected.value
    assert done.times == 1


@pytest.mark.parametrize("payload", [rows, record])
def test_without_the_tools_of_results_everything_comes_by_the_cursor(doors: Doors, offered: Any, payload: Any):
    done = offered(payload)
    doors.choose(hidden_tools=["result_get", "result_search", "result_query"])
    if payload is record:
        assert crawler.from_parts(doors.mcp, "do_something", {"what": "this"}) == payload().value
    else:
        walked = crawler.walk(doors.mcp, "do_something", {"what": "this"})
        assert [row["text"] for row in walked] == ["word " * 50] * 300
    assert done.times == 1


TEXT = "".join(f"2026-11-21 10:00:{n % 60:02} INFO line {n} of what was done\n" for n in range(3000))


def test_a_text_of_an_action_is_read_to_its_end_without_doing_it_again(doors: Doors, offered: Any):
    done = offered(lambda: MemoryText(TEXT))
    assert crawler.text(doors.mcp, "do_something", {"what": "this"}) == TEXT
    first = doors.mcp("do_something", {"what": "this"})
    found = doors.mcp("result_search", {"handle": first["meta"]["resultHandle"], "text": "line 2999 "})
    assert [hit["line"] for hit in found["items"]] == [3000]
    assert done.times == 2


def test_a_cursor_whose_result_is_gone_does_nothing(doors: Doors, offered: Any):
    done = offered(rows)
    cursor = doors.post("do_something", {"what": "this"})["nextCursor"]
    refused = doors.post("do_something", {"what": "this", "cursor": cursor[:-4] + "AAAA"})
    assert refused["error"]["reason"] == "cursor_invalid"
    other = doors.post("do_something", {"what": "that", "cursor": cursor})
    assert other["error"]["reason"] == "cursor_mismatch"
    assert done.times == 1


def test_a_client_is_told_that_it_destroys(doors: Doors, offered: Any):
    offered(rows)
    tools = doors.ask(lambda client: client.list_tools()).tools
    annotations = next(tool.annotations for tool in tools if tool.name == "do_something")
    assert annotations is not None
    assert annotations.destructive_hint is True
    assert annotations.read_only_hint is None


def test_a_cursor_that_has_expired_does_not_send_its_caller_back_to_the_action(
    doors: Doors, offered: Callable[[Callable[[], Payload]], Done]
):
    done = offered(rows)
    error = doors.mcp("do_something", {"what": "x", "cursor": "no-cursor-of-ours"})["error"]
    assert error["reason"] == "cursor_invalid"
    assert "repeats the action" in error["data"]["suggestion"]
    assert done.times == 0


def test_a_handle_that_has_expired_does_not_send_its_caller_back_to_the_action(doors: Doors, offered: Any):
    done = offered(rows)
    handle = doors.mcp("do_something", {"what": "x"})["meta"]["resultHandle"]
    lose(handle)
    error = doors.mcp("result_get", {"handle": handle})["error"]
    assert error["reason"] == "handle_expired"
    assert error["data"]["suggestion"].startswith("Calling do_something again repeats the action")
    assert done.times == 1


@pytest.mark.django_db
def test_an_action_gives_a_handle_and_is_done_once(doors: Doors, offered: Any):
    done = offered(rows)
    answer = doors.mcp("do_something", {"what": "this", "format": "handle"})
    assert answer["meta"]["totalCount"] == 300
    sql = {"handle": answer["meta"]["resultHandle"], "sql": "SELECT max(id) AS last FROM rows"}
    assert doors.mcp("result_query", sql)["items"] == [{"last": 299}]
    assert done.times == 1
