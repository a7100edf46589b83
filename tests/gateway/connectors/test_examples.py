"""The examples of docs/connectors.md run as they stand there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gateway.catalog.catalog import catalogue
from gateway.connectors.connector import Connector
from gateway.upstreams.registry import upstreams
from tests import crawler
from tests.doors import Doors
from tests.simulators.shop import CUSTOMERS, shop

EXAMPLES = re.findall(
    r"```python\n(# gateway/connectors/weather/connector\.py\n.*?)```",
    (Path(settings.BASE_DIR) / "docs/connectors.md").read_text(),
    re.DOTALL,
)


def offered(source: str) -> Connector:
    names: dict[str, Any] = {"__name__": "gateway.connectors.weather.connector"}
    exec(source, names)  # noqa: S102 - our own documentation
    connector: Connector = names["CONNECTOR"]
    catalogue.offer(connector.operations())
    return connector


@pytest.fixture(autouse=True)
def withdrawn() -> Iterator[None]:
    yield
    catalogue.withdraw("list_stations")
    upstreams.remove("weather")


def test_the_smallest_connector_answers_at_every_door(doors: Doors):
    assert offered(EXAMPLES[0]).name == "weather"
    assert doors.mcp("list_stations", {"country": "CH"})["items"] == [{"id": 2, "name": "Säntis", "country": "CH"}]
    assert len(doors.post("list_stations", {})["items"]) == 2


def test_a_list_that_upstream_pages_is_walked_and_each_row_comes_once(doors: Doors, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as api:
        source = EXAMPLES[1].replace("https://weather.example.com", api.url).replace("/stations?", "/by-page?")
        offered(source)
        walked = crawler.walk(doors.mcp, "list_stations", {"limit": 30})
    assert [row["id"] for row in walked] == [each["id"] for each in CUSTOMERS]
    assert {query["status"] for _, _, query, _, _ in api.calls} == {"active"}
    assert len(api.calls) == 5, "137 rows by 30"
