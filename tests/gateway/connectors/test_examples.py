"""The examples of docs/connectors.md run as they are written, and its tables name every option."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gateway.api.urls import connector_routes
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition import ToolDefinition
from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.upstreams.registry import upstreams
from tests import crawler
from tests.doors import Doors
from tests.simulators.shop import CUSTOMERS, shop

PAGE = (Path(settings.BASE_DIR) / "docs/connectors.md").read_text()
EXAMPLES = re.findall(r"```python\n(# gateway/connectors/\w+/connector\.py\n.*?)```", PAGE, re.DOTALL)


def names_of(declared: type[Any]) -> list[str]:
    return [each.name for each in fields(declared)]


def offered(source: str) -> Connector:
    names: dict[str, Any] = {"__name__": "gateway.connectors.example.connector"}
    exec(source, names)  # noqa: S102 - our own documentation
    connector: Connector = names["CONNECTOR"]
    catalogue.offer(connector.operations())
    return connector


@pytest.fixture(autouse=True)
def withdrawn() -> Iterator[None]:
    yield
    for name in ("list_weather_stations", "get_weather_station", "list_tide_gauges"):
        catalogue.withdraw(name)
    upstreams.remove("tides")


def test_the_list_of_the_example_answers_over_every_transport(doors: Doors):
    assert offered(EXAMPLES[0]).name == "weather"
    rows = doors.mcp("list_weather_stations", {"country": "CH", "fields": "id,name"})["items"]
    assert rows == [{"id": 2, "name": "Säntis"}]
    assert len(doors.post("list_weather_stations", {})["items"]) == 2


def test_the_record_of_the_example_is_whole_or_a_section_of_it(doors: Doors):
    offered(EXAMPLES[0])
    assert doors.mcp("get_weather_station", {"id": 1})["name"] == "Brocken"
    section = doors.mcp("get_weather_station", {"id": 1, "fields": "equipment"})
    assert {**section, "meta": {}} == {"meta": {}, "sensors": ["wind", "snow"]}
    assert doors.mcp("get_weather_station", {"id": 3})["error"]["reason"] == "not_found"


def test_the_example_has_addresses_of_its_own():
    addresses = [str(each.pattern) for each in connector_routes(offered(EXAMPLES[0]).operations())]
    assert addresses == ["weather-stations", "weather-stations/<str:id>"]


def test_a_list_that_upstream_pages_is_walked_and_each_row_comes_once(doors: Doors, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as api:
        offered(EXAMPLES[1].replace("https://tides.example.com", api.url).replace("/gauges?", "/by-page?"))
        walked = crawler.walk(doors.mcp, "list_tide_gauges", {"limit": 30})
    assert [row["id"] for row in walked] == [each["id"] for each in CUSTOMERS]
    assert {query["status"] for _, _, query, _, _ in api.calls} == {"active"}
    assert len(api.calls) == 5, "137 rows by 30"


@pytest.mark.parametrize(
    ("heading", "options"),
    [
        ("Of a tool definition", names_of(ToolDefinition)),
        ("Of an operation", [name for name in names_of(Operation) if name not in names_of(ToolDefinition)]),
        ("Of a connector", names_of(Connector)),
    ],
)
def test_the_page_names_every_option(heading: str, options: list[str]):
    table = PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == options


def test_what_is_not_a_page_is_a_failure_of_the_upstream_and_is_not_cached(doors: Doors, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as api:
        offered(EXAMPLES[1].replace("https://tides.example.com", api.url).replace("/gauges?", "/by-page?"))
        api.odd["/by-page"] = "<html>Maintenance</html>"
        assert doors.mcp("list_tide_gauges", {})["error"]["reason"] == "upstream_garbled"
        api.odd.clear()
        assert doors.mcp("list_tide_gauges", {})["items"][0]["id"] == CUSTOMERS[0]["id"]
