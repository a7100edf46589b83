"""search_tools and describe_tool at the doors, over a catalogue of three hundred tools."""

from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.core.budget import dumps
from context_protection.core.payloads import Record
from context_protection.core.policy import DEFAULTS
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.catalog.catalog import catalogue
from gateway.connectors.tools import operations as tools
from gateway.mcp.tools import tool_list_of
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.tools.questions import QUESTIONS

pytestmark = pytest.mark.django_db

MAX_OF_A_ROW = 80  # Claude's tokens


def names(answer: dict[str, Any]) -> list[str]:
    return [row["name"] for row in crawler.rows(answer)]


def claude(document: Any) -> int:
    return tokens.claude.count(dumps(document).decode())


def listed() -> list[str]:
    return [operation.name for operation in catalogue if operation.listed]


@pytest.mark.usefixtures("large_api")
class TestSearch:
    def test_a_page_is_eight_rows_unless_more_are_asked_for(self, doors: Doors):
        answer = doors.mcp("search_tools", {"query": "cancel a reservation"})
        assert len(answer["items"]) == 8
        assert names(answer)[0] == "cancel_booking"
        assert len(names(doors.mcp("search_tools", {"query": "cancel a reservation", "limit": 3}))) == 3

    def test_what_ops_set_for_all_goes_before_the_eight(self, doors: Doors):
        TokenBudget.objects.create(default_page_size=5)
        revisions.bump()
        assert len(doors.mcp("search_tools", {"query": "cancel a reservation"})["items"]) == 5

    def test_a_row_says_what_a_tool_does_and_takes_in_few_tokens(self, doors: Doors):
        rows = crawler.walk(doors.mcp, "search_tools", {"limit": 50})
        assert {tuple(row) for row in rows} == {
            ("name", "does", "arguments"),
            ("name", "does", "arguments", "acts"),
        }
        assert max(map(claude, rows)) <= MAX_OF_A_ROW
        assert sum(map(claude, rows)) / len(rows) <= 50
        (row,) = [row for row in rows if row["name"] == "create_invoice"]
        assert row["does"].startswith("Makes a new invoice")
        assert row["arguments"] == "customerId*, dueDate*, total, currency, …"

    def test_a_title_that_the_description_repeats_stands_once(self, doors: Doors):
        """Once, the rows of an imported API said everything twice, as its summary is title and description."""
        title = "List pull requests"
        repeated = replace(catalogue.get("list_invoices"), name="hub_pulls", title=title, description=f"{title}.")
        catalogue.offer([repeated, replace(repeated, name="hub_merges", description="Those that wait.")])
        try:
            rows = {row["name"]: row["does"] for row in doors.mcp("search_tools", {"query": "pull requests"})["items"]}
            assert rows["hub_pulls"] == "List pull requests."
            assert rows["hub_merges"] == "List pull requests. Those that wait."
        finally:
            catalogue.withdraw("hub_pulls")
            catalogue.withdraw("hub_merges")

    def test_a_search_is_small(self, doors: Doors):
        assert max(claude(doors.mcp("search_tools", {"query": query})) for query in QUESTIONS) <= 1000

    def test_pages_go_on_in_the_order_of_the_ranking(self, doors: Doors):
        found = [row["name"] for row in crawler.walk(doors.mcp, "search_tools", {"query": "invoices"})]
        assert found == [name for name in tools.index().search("invoices") if name in listed()]
        assert len(found) > 8

    def test_without_a_query_every_tool_can_be_walked_to(self, doors: Doors):
        first = doors.mcp("search_tools", {})
        assert "booking 7" in first["meta"]["groups"]
        assert "query" in first["meta"]["notes"][0]
        for arguments in ({}, {"query": "  "}):
            assert [row["name"] for row in crawler.walk(doors.mcp, "search_tools", arguments)] == listed()

    @pytest.mark.parametrize("query", ["xyzzy plugh", "予約", "?!", "x" * 500])
    def test_where_nothing_is_found_the_answer_says_what_there_is(self, doors: Doors, query: str):
        answer = doors.mcp("search_tools", {"query": query})
        assert answer["items"] == []
        assert "Search with other words" in answer["meta"]["notes"][0]
        assert "invoice 7" in answer["meta"]["groups"]

    def test_the_finders_do_not_find_themselves(self, doors: Doors):
        for query in ("search tools", "search_tools", "describe a tool"):
            assert not {"search_tools", "describe_tool", "call_tool"} & set(
                names(doors.mcp("search_tools", {"query": query, "limit": 100}))
            )

    def test_a_query_of_the_wrong_kind_is_named(self, doors: Doors):
        error = doors.mcp("search_tools", {"query": "x" * 501})["error"]
        assert error["data"]["parameter"] == "query"
        assert "500" in error["data"]["expected"]

    def test_a_search_is_recorded_like_any_call(self, doors: Doors):
        doors.mcp("search_tools", {"query": "invoices"})
        recorder.flush()
        record = TelemetryRecord.objects.get(operation="search_tools")
        assert (record.outcome, record.item_count, record.kind) == ("paginated", 8, "list")

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(query=st.one_of(st.text(max_size=500), st.sampled_from(sorted(QUESTIONS))), limit=st.integers(1, 200))
    def test_no_search_breaks_the_smallest_cap(self, doors: Doors, query: str, limit: int):
        TokenBudget.objects.update_or_create(operation="", defaults={"hard_cap": 1000, "token_budget_threshold": 900})
        revisions.bump()
        answer = doors.post("search_tools", {"query": query, "limit": limit})
        assert claude(answer) <= 1000
        assert "error" not in answer or answer["error"]["data"]["parameter"] == "query"


def test_groups_of_any_number_are_said_in_few_words():
    every = [replace(catalogue.get("list_bookings"), name=f"list_{'x' * 60}{number}s") for number in range(300)]
    groups = tools._groups(every)
    assert len(groups) <= tools.GROUP_CHARS + 2 * tools.LONGEST_NAME
    assert groups.endswith("more")


def test_the_index_is_built_once_for_a_state_of_the_catalogue(doors: Doors):
    first = tools.index()
    doors.mcp("search_tools", {"query": "bookings"})
    assert tools.index() is first
    catalogue.offer([replace(catalogue.get("list_bookings"), name="list_yachts", description="Boats.")])
    try:
        assert tools.index() is not first
        assert names(doors.mcp("search_tools", {"query": "boat"})) == ["list_yachts"]
    finally:
        catalogue.withdraw("list_yachts")
    assert names(doors.mcp("search_tools", {"query": "boat"})) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("reservations", "list_bookings"),
        ("one reservation", "get_booking"),
        ("properties in Kyoto", "list_listings"),
        ("refunds", "list_transactions"),
        ("read the house manual", "read_document"),
        ("SQL", "result_query"),
        ("join two results", "result_query"),
        ("combine bookings with listings by SQL", "result_query"),
        ("join bookings with listings", "result_query"),
    ],
)
def test_the_products_own_tools_are_found(doors: Doors, query: str, name: str):
    assert name in names(doors.mcp("search_tools", {"query": query}))[:2]


# -- describe_tool ----------------------------------------------------------------------------------


def described_to(doors: Doors, name: str) -> dict[str, Any]:
    record = catalogue.get("describe_tool").fetch({"name": name}, caller_of_key(doors.key))
    assert isinstance(record, Record)
    return record.value


@pytest.mark.usefixtures("large_api")
class TestDescribe:
    def test_a_tool_is_described_with_all_that_a_list_of_all_tools_says(self, doors: Doors):
        doors.choose(tool_listing="all")
        for definition in tool_list_of(caller_of_key(doors.key)).definitions:
            published = definition.tool.model_dump(by_alias=True, exclude_none=True)
            described = described_to(doors, published["name"])
            assert all(described[name] == published[name] for name in ("name", "title", "description"))
            arguments = described["inputSchema"]["properties"]
            for name, listed in published["inputSchema"]["properties"].items():
                assert arguments[name].keys() >= listed.keys() - {"examples"}
                assert len(arguments[name]["description"]) > 5

    def test_its_example_is_a_valid_call(self, doors: Doors):
        for operation in catalogue:
            example = described_to(doors, operation.name)["example"]
            assert example["name"] == operation.name
            jsonschema_rs.validate(operation.schema(DEFAULTS), example["arguments"])
            assert set(operation.required) <= set(example["arguments"])

    def test_every_door_describes_alike(self, doors: Doors):
        asked = {"name": "list_invoices"}
        described = described_to(doors, "list_invoices")
        assert crawler.own(doors.rest("describe_tool", asked)) == described
        assert crawler.own(doors.mcp("describe_tool", asked)) == described

    def test_a_large_description_comes_whole(self, doors: Doors):
        """Above a record's budget it would be a preview, and its schema one call further away."""
        wide = {f"field{number}": {"type": "string", "description": "What it is. " * 8} for number in range(120)}
        create = replace(catalogue.get("create_invoice"), name="create_all", parameters=wide, required=("field1",))
        catalogue.offer([create])
        try:
            answer = doors.mcp("describe_tool", {"name": "create_all"})
            assert answer["meta"]["kind"] == "full"
            assert answer["meta"]["estimatedTokens"] > 2000
            assert wide.keys() < answer["inputSchema"]["properties"].keys()
        finally:
            catalogue.withdraw("create_all")

    def test_a_name_that_is_nearly_right_is_put_right(self, doors: Doors):
        error = doors.mcp("describe_tool", {"name": "get_invocie"})["error"]
        assert error["data"]["parameter"] == "name"
        assert error["data"]["suggestion"] == "Set name to get_invoice."
        assert "get_invoice" in error["data"]["expected"]
        assert claude(error) < 200, "it does not name three hundred tools"
