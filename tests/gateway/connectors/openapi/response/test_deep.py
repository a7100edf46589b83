"""Answers of many levels: up to 250 they are had whole at either door, beyond that they are refused in words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.test_operations import imported, named
from tests.simulators.shop import Shop, shop

DEEPEST = 250


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        yield simulated
    retain(())


def nested(levels: int, kind: str, leaf: Any) -> Any:
    value = leaf
    for level in range(levels):
        match kind:
            case "lists":
                value = [value]
            case "objects":
                value = {"a": value}
            case _:
                value = {"a": value, "n": level, "t": f"text {level}"} if level % 2 else [value, level]
    return value


LEAVES = {"short": 1, "long": "Words of a text. " * 3_000, "wide": {f"name {n}": "x" * 30 for n in range(600)}}
KINDS = ["lists", "objects", "both"]


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_as_many_levels_as_are_read_is_had_whole(doors: Doors, api: Shop, kind: str, leaf: str):
    levels = DEEPEST - 1 - (leaf == "wide")
    api.odd["/customers/large"] = record = {"id": 7, "deep": nested(levels, kind, LEAVES[leaf])}
    name = named(imported(api), "GET /customers/{id}")
    assert crawler.record(doors.mcp, name, {"id": "large"}) == record
    assert crawler.from_parts(doors.post, name, {"id": "large", "fields": "all"}) == record


@pytest.mark.parametrize("form", ["items", "table"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_as_many_levels_as_are_read_are_had_whole(doors: Doors, api: Shop, kind: str, form: str):
    rows = [{"id": n, "deep": nested(DEEPEST - 2, kind, n), "filler": "words " * 100} for n in range(6)]
    api.odd["/all"] = rows
    name = named(imported(api), "GET /all")
    for call in (doors.post, doors.mcp):
        assert crawler.walk(call, name, {"fields": "all", "format": form}) == rows
        handle = call(name, {"limit": 2})["meta"].get("resultHandle")
        if handle:
            whole = crawler.walk(call, "result_query", {"handle": handle, "sql": "SELECT * FROM rows"})
            assert [row["id"] for row in whole] == list(range(6))
            assert "error" not in call("result_get", {"handle": handle, "rows": "0"})
            assert "error" not in call("result_search", {"handle": handle, "text": "words"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_nothing_but_levels_is_answered(doors: Doors, api: Shop, kind: str):
    api.odd["/all"] = nested(DEEPEST, kind, 1)
    name = named(imported(api), "GET /all")
    for call in (doors.post, doors.mcp):
        for arguments in ({}, {"fields": "all"}, {"format": "table"}):
            assert "error" not in call(name, arguments)


@pytest.mark.parametrize("levels", [251, 254, 255, 300, 900, 1_023, 1_100, 20_000])
def test_more_levels_are_refused_as_too_deep(doors: Doors, api: Shop, levels: int):
    name = named(imported(api), "GET /all")
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        api.odd["/all"] = (opening * levels + "1" + closing * levels).encode()
        for call in (doors.post, doors.mcp):
            error = call(name, {})["error"]
            assert (error["reason"], error["code"]) == ("too_deep", -32000)
            assert "250" in error["data"]["expected"]


def test_the_refusal_is_a_502(doors: Doors, api: Shop):
    api.odd["/all"] = json.loads("[" * 300 + "]" * 300)
    name = named(imported(api), "GET /all")
    doors.post(name, {})  # by which the tool is known
    assert doors.response(f"/api/v1/tools/{name}").status_code == 502


def test_brackets_in_texts_are_no_levels(doors: Doors, api: Shop):
    api.odd["/all"] = [{"id": 1, "text": "[{" * 400}]
    assert crawler.walk(doors.post, named(imported(api), "GET /all"), {"fields": "all"}) == api.odd["/all"]
