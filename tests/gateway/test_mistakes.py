"""A suggestion works when it is followed word by word: 200 mistakes in calls of every tool (N-SC-004)."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from context_protection.configuration.revisions import revisions
from gateway.catalog.arguments import validated
from gateway.catalog.catalog import catalogue
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import operations
from gateway.connectors.openapi.importer import import_plan
from gateway.upstreams.registry import retain
from tests.doors import Doors
from tests.gateway.connectors.nsip.fetching import PlainFetching
from tests.gateway.mistakes import Arguments, Mistake, followed, mistakes
from tests.offers import in_place
from tests.simulators.nsip import nsip_simulator
from tests.simulators.nsip_sheep import Sheep
from tests.simulators.shop import shop

pytestmark = pytest.mark.django_db

RAM = Sheep(640, 7331).lpn
MISTAKES = 200
BY_STATUS = {
    "groupBy": ["status"],
    "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}],
    "orderBy": "-revenue",
}


@pytest.fixture
def sheep() -> Iterator[None]:
    """NSIP's operations against the simulator."""
    with nsip_simulator() as nsip:
        offered = operations(Nsip(PlainFetching(), nsip.url, lambda method: 0.0))
        with in_place(offered):
            yield


@pytest.fixture
def imported(db: None, settings: Any) -> Iterator[None]:
    """A shop's operations, with parameters of every type."""
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as api:
        document = api.document
        document["paths"]["/all"]["get"]["parameters"] = [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in {
                "state": {"type": "string", "enum": ["active", "closed", "in_arrears"]},
                "since": {"type": "string", "format": "date"},
                "changed_after": {"type": "string", "format": "date-time"},
                "min_balance": {"type": "number", "exclusiveMinimum": 0},
                "page_count": {"type": "integer", "minimum": 1, "maximum": 30, "default": 3},
                "with_history": {"type": "boolean"},
                "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            }.items()
        ]
        plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
        import_plan.store(plan, chosen=[each.key for each in plan.proposals if each.key.startswith("GET")])
        revisions.bump()
        yield
    retain(())


@pytest.fixture
def calls(doors: Doors, sheep: None, imported: None) -> list[tuple[str, Arguments]]:
    """Valid calls of every tool."""
    catalogue.refresh()
    handle = doors.post("list_bookings", {})["meta"]["resultHandle"]
    fixed: list[tuple[str, Arguments]] = [
        ("list_bookings", {"status": "confirmed", "fields": "id,totalPrice,guestName"}),
        ("list_bookings", {"where": {"totalPrice": {"gte": 500}}, "limit": 10}),
        ("list_bookings", {"where": {"status": "confirmed"}, "order": "-totalPrice"}),
        ("list_bookings", {"aggregate": BY_STATUS}),
        ("list_listings", {"minGuests": 2, "fields": "name,city"}),
        ("list_listings", {"where": {"city": {"contains": "a"}}}),
        ("list_transactions", {"where": {"amount": {"gt": 10}}, "fields": "id,amount"}),
        ("list_documents", {"order": "title"}),
        ("get_booking", {"id": 43000000, "fields": "financial"}),
        ("get_listing", {"id": 200100, "fields": "name,city"}),
        ("get_transaction", {"id": 700000}),
        ("read_document", {"id": "house-manual.md"}),
        ("result_get", {"handle": handle, "rows": "0-3"}),
        ("result_search", {"handle": handle, "text": "a"}),
        ("result_query", {"handle": handle, "sql": "SELECT count(*) FROM rows"}),
        ("search_tools", {"query": "bookings"}),
        ("describe_tool", {"name": "get_booking"}),
        ("nsip_get_last_update", {}),
        ("nsip_list_breeds", {}),
        ("nsip_get_statuses", {}),
        ("nsip_get_trait_ranges", {"breed_id": 640}),
        ("nsip_search_animals", {"breed_id": 640, "sorted_trait": "BWT", "fields": "LpnId,Status"}),
        ("nsip_search_animals", {"search_criteria": {"gender": "Male"}, "page_size": 5}),
        ("nsip_get_animal", {"search_string": RAM}),
        ("nsip_get_lineage", {"lpn_id": RAM}),
        ("nsip_get_progeny", {"lpn_id": RAM, "page": 0}),
        ("nsip_search_by_lpn", {"lpn_id": RAM}),
        ("shop_get_customer", {"id": "5"}),
        ("shop_list_all", {"state": "active", "page_count": 2, "fields": "id,name"}),
        ("shop_list_all", {"since": "2026-11-20", "labels": ["a"], "where": {"balance": {"gt": 10}}}),
        ("shop_list_by_offset", {"status": "active"}),
        ("shop_read_log", {}),
    ]
    known = {each.name for each in catalogue}
    return [each for each in fixed if each[0] in known]


@pytest.mark.parametrize("seed", [20261123, 90210])
def test_suggestions_work_when_they_are_followed_literally(seed: int, doors: Doors, calls: list[tuple[str, Arguments]]):
    failed: list[Any] = []
    wrong = 0
    for mistake in mistakes(calls, seed):
        answer = doors.post(mistake.operation, mistake.arguments)
        if "error" in answer:
            wrong += 1
            again = followed(answer["error"], mistake, doors.post)
            if again is None or "error" in again:
                failed.append((mistake, answer["error"], again))
        if wrong == MISTAKES:
            break
    assert len(failed) <= 0.05 * MISTAKES, failed


def test_the_example_of_each_tool_is_valid_under_its_own_schema(doors: Doors, calls: list[tuple[str, Arguments]]):
    for operation in catalogue:
        described = doors.post("describe_tool", {"name": operation.name, "fields": "all"})
        assert described["example"]["name"] == operation.name
        validator = jsonschema_rs.validator_for(described["inputSchema"], validate_formats=True)
        assert list(validator.iter_errors(described["example"]["arguments"])) == [], operation.name
        assert validated(operation, described["example"]["arguments"]) == described["example"]["arguments"]


@pytest.mark.parametrize(
    ("operation", "arguments", "suggestion"),
    [
        # The argument has the name that the caller gave it.
        ("list_bookings", {"order_by": "createdAt desc"}, "Set order_by to -checkOutDate."),
        ("list_listings", {"min_bedrooms": "two"}, "Leave min_bedrooms out."),
        ("list_bookings", {"limit": None, "count": "x"}, "Set count to 50."),
        (
            "list_bookings",
            {"page_token": "5"},
            "Start again without page_token; use each nextCursor within 10 minutes.",
        ),
        # All needless arguments at once, beside one that only has another name.
        ("list_bookings", {"start_date": "2026-05-01", "end_date": "x"}, "Leave start_date and end_date out."),
        (
            "get_booking",
            {"idd": 43000000, "expand": 1, "verbose": 1},
            "Rename idd to id and leave expand and verbose out.",
        ),
        # A value that the other argument cannot have is not given to it.
        ("get_listing", {"name": "Loft"}, "Find the id with list_listings. Leave name out."),
        ("get_booking", {"confirmationCode": "HM12"}, "Find the id with list_bookings. Leave confirmationCode out."),
        (
            "list_bookings",
            {"where": {"or": {"status": "confirmed", "nights": 2}}},
            'Set where to {"or":[{"status":"confirmed"},{"nights":2}]}.',
        ),
    ],
)
def test_a_suggestion_corrects_what_was_sent(
    operation: str, arguments: Arguments, suggestion: str, doors: Doors, calls: list[tuple[str, Arguments]]
):
    error = doors.post(operation, arguments)["error"]
    assert error["data"]["suggestion"] == suggestion
    again = followed(error, Mistake("", operation, arguments), doors.post)
    assert again is not None
    assert "error" not in again


@pytest.mark.parametrize(
    ("sql", "suggestion"),
    [
        ("", "Set sql to a value such as SELECT count(*) FROM rows."),
        ("DELETE FROM rows", "Set sql to a value such as SELECT count(*) FROM rows."),
        ("SELECT status, count(*) FROM rows", "Add GROUP BY ALL."),
        ("SELECT id FROM rows ORDER BY 3", "Order by a column's name, or by its number in SELECT, from 1."),
        (
            "SELECT date_trunc(month, checkInDate) FROM rows",
            "Write 'month' in single quotes: without them it is a column.",
        ),
        ("SELECT doorCode FROM rows", "Leave this column out."),
    ],
)
def test_a_wrong_statement_is_told_what_to_change(sql: str, suggestion: str, doors: Doors):
    handle = doors.post("list_bookings", {})["meta"]["resultHandle"]
    error = doors.post("result_query", {"handle": handle, "sql": sql})["error"]
    assert error["data"]["suggestion"] == suggestion
