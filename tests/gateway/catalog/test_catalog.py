"""The catalogue: what is published is true of the account, small, and the same each time."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db.models import F, OrderBy
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, Tool

from context_protection.configuration.revisions import revisions
from context_protection.core import projection, tokens
from context_protection.core.errors import UnknownOperation
from context_protection.core.policy import DEFAULTS, Kind
from context_protection.core.shapes import Shape
from context_protection.stores.snapshots import snapshots
from gateway.access.callers import caller_of_key
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.connectors.hostaway import sample
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking, Listing, Transaction
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.mcp.tools import tool_list_of
from gateway.threads.bridge import run_sync
from tests.doors import Doors
from tests.gateway.catalog.test_arguments import NEEDED

pytestmark = pytest.mark.django_db

EVERY = [pytest.param(operation, id=operation.name) for operation in catalogue]
TYPES = [
    pytest.param(BOOKINGS.shape, Booking, BOOKINGS.columns, id="booking"),
    pytest.param(LISTINGS.shape, Listing, LISTINGS.columns, id="listing"),
    pytest.param(TRANSACTIONS.shape, Transaction, TRANSACTIONS.columns, id="transaction"),
]
USUALLY_EMPTY = {"specialStatus"}  # upstream says something there only of listings out of service


def objects(model: Any) -> list[dict[str, Any]]:
    return [orjson.loads(data) for data in model.objects.values_list("data", flat=True)]


# -- Shapes against the account ---------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "model", "columns"), TYPES)
def test_every_field_of_a_preview_is_somewhere_in_the_account(shape: Shape, model: Any, columns: Any):
    records = objects(model)
    for field in (*shape.row, *shape.preview):
        assert all(projection.resolves(record, field.source) for record in records[:12]), field.name
        values = [projection.get(record, field.source) for record in records]
        assert field.source in USUALLY_EMPTY or any(value not in (None, "") for value in values), field.name


@pytest.mark.parametrize(("shape", "model", "columns"), TYPES)
def test_no_section_is_called_like_a_field(shape: Shape, model: Any, columns: Any):
    names = {name for record in objects(model) for name in record} | set(shape.canonical)
    assert not names & set(shape.section_names)


@pytest.mark.parametrize(("shape", "model", "columns"), TYPES)
def test_every_field_that_holds_something_has_a_section_of_its_own(shape: Shape, model: Any, columns: Any):
    for record in objects(model):
        others = [name for name in shape.in_sections(record).get("other", []) if record[name]]
        assert [name for name in others if "[withheld: " not in str(record[name])] == []


@pytest.mark.parametrize(("shape", "model", "columns"), TYPES)
def test_a_condensed_row_from_columns_is_the_row_from_the_object(shape: Shape, model: Any, columns: Any, doors: Doors):
    """Two ways to the same row: they must not drift apart, in any of the account's objects."""
    assert tuple(columns.row) == tuple(field.name for field in shape.row)
    operation = f"list_{shape.name}s"
    answer = doors.post(operation, {"format": "items", "limit": 100})
    if answer["meta"]["kind"] == "preview":
        for row in answer["items"]:
            record = orjson.loads(model.objects.get(id=row["id"]).data)
            assert row == {field.name: field.read(record) for field in shape.row}


# -- What is published ------------------------------------------------------------------------------


def tools(doors: Doors) -> list[Tool]:
    return [definition.tool for definition in tool_list_of(caller_of_key(doors.key)).definitions]


MOST_TOKENS = 4500  # of what every conversation pays for all tools


def test_the_tools_take_few_tokens(doors: Doors):
    read_by_models = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema} for tool in tools(doors)
    ]
    documented = (settings.BASE_DIR / "docs/engineers.md").read_text()
    assert f"`inputSchema` of the {len(read_by_models)} tools: {MOST_TOKENS:,} |" in documented
    assert tokens.claude.count(orjson.dumps(read_by_models).decode()) <= MOST_TOKENS


@pytest.mark.parametrize("operation", EVERY)
def test_a_tool_list_has_every_argument_that_works(operation: Operation, doors: Doors):
    """Once, 21 filters of lists and the `format` of records worked, but no client could know. An argument that is not
    listed has no effect, and the answer says so."""
    every, listed = (each(DEFAULTS)["properties"] for each in (operation.schema, operation.listed_schema))
    unlisted = set(every) - set(listed) - operation.asks_secrets
    if unlisted:
        answer = doors.post(operation.name, {**NEEDED.get(operation.name, {}), **dict.fromkeys(unlisted, "1")})
        noted = {note.partition(" has no effect: ")[0] for note in answer["meta"]["notes"]}
        assert unlisted <= noted


def examples(operation: Operation) -> list[tuple[str, Any]]:
    """The arguments with an example of their own in the tool list, each with that example."""
    properties = operation.listed_schema(DEFAULTS)["properties"]
    return [(name, example) for name, schema in properties.items() for example in schema.get("examples", ())]


@pytest.mark.parametrize(
    "operation",
    [each for each in EVERY if each.values[0].listed and not each.values[0].name.startswith("result_")],
)
def test_every_example_in_the_tool_list_works(operation: Operation, doors: Doors):
    """Once, every list showed conditions on totalPrice, which only bookings have."""
    for name, example in examples(operation):
        answer = doors.post(operation.name, {**NEEDED.get(operation.name, {}), name: example})
        # A search of all sheep must be narrowed before conditions can be applied to its rows.
        assert answer.get("error", {}).get("reason") in {None, "too_many_rows"}, (name, example)


@pytest.mark.parametrize("operation", [each for each in EVERY if each.values[0].kind is Kind.LIST])
def test_every_list_has_examples_of_its_own_fields(operation: Operation):
    schema = operation.listed_schema(DEFAULTS)["properties"]
    if "where" in schema:
        (condition,), (totals,) = schema["where"]["examples"], schema["aggregate"]["examples"]
        assert condition
        assert totals["groupBy"]


def test_a_field_of_any_type_can_be_the_example_of_a_list_that_declares_none():
    imported = replace(catalogue.get("list_bookings"), examples={}, field_names=("id", "label"))
    schema = imported.listed_schema(DEFAULTS)["properties"]
    assert schema["where"]["examples"] == [{"id": {"isnull": False}}]
    assert schema["aggregate"]["examples"] == [{"groupBy": ["id"], "metrics": [{"op": "count"}]}]
    unknown = replace(imported, field_names=()).listed_schema(DEFAULTS)["properties"]
    assert "examples" not in unknown["where"]


def test_a_tool_list_leaves_out_what_describe_tool_says(doors: Doors):
    """Descriptions and forms of arguments whose names say enough, limits of storage, and all but a few of many
    choices."""
    bookings = catalogue.get("list_bookings")
    listed = bookings.listed_schema(DEFAULTS)["properties"]
    assert listed["checkInFrom"] == {"type": "string"}
    assert listed["status"] == {"type": "string", "examples": ["confirmed", "new"]}
    assert listed["minTotalPrice"] == {"type": "number"}
    described = doors.mcp("describe_tool", {"name": "list_bookings"})["inputSchema"]["properties"]
    assert described["minTotalPrice"]["description"]
    assert described["checkInFrom"]["format"] == "date"
    assert len(described["status"]["enum"]) > 6
    assert "maximum" not in catalogue.get("nsip_search_animals").listed_schema(DEFAULTS)["properties"]["page"]
    assert listed["limit"] == {"type": "integer", "maximum": 200}


def test_the_tools_are_the_same_each_time_and_in_the_same_order(doors: Doors):
    first = [tool.model_dump_json() for tool in tools(doors)]
    revisions.bump()
    assert [tool.model_dump_json() for tool in tools(doors)] == first
    assert [tool.name for tool in tools(doors)] == [
        "list_listings",
        "get_listing",
        "list_bookings",
        "get_booking",
        "list_transactions",
        "get_transaction",
        "list_documents",
        "read_document",
        "nsip_get_last_update",
        "nsip_list_breeds",
        "nsip_get_statuses",
        "nsip_get_trait_ranges",
        "nsip_search_animals",
        "nsip_get_animal",
        "nsip_get_lineage",
        "nsip_get_progeny",
        "nsip_search_by_lpn",
        "result_get",
        "result_search",
        "result_query",
    ]


@pytest.mark.parametrize("operation", EVERY)
def test_every_argument_is_described_and_its_range_is_its_own(operation: Operation):
    """Once, minimum and default stood among the properties."""
    schema = operation.schema(DEFAULTS)
    assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
    assert schema["additionalProperties"] is False
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for name, argument in schema["properties"].items():
        assert isinstance(argument, Mapping), name
        assert argument["type"] in {"string", "integer", "number", "boolean", "object", "array"}, name
        assert len(argument["description"]) >= 8, name
    assert not {"minimum", "maximum", "default", "enum", "type", "description"} & (set(schema["properties"]) - {"type"})


@pytest.mark.parametrize("operation", EVERY)
def test_every_tool_that_is_listed_can_be_called(operation: Operation, doors: Doors):
    """Once, tools were listed under one name and dispatched under another."""
    answer = doors.mcp(operation.name, {})
    if operation.required:
        assert answer["error"]["reason"] == "missing_argument"
    else:
        assert "error" not in answer


@pytest.mark.parametrize("operation", EVERY)
def test_the_default_of_an_argument_is_a_valid_one(operation: Operation):
    import jsonschema_rs

    for name, schema in operation.schema(DEFAULTS)["properties"].items():
        if "default" in schema:
            assert jsonschema_rs.is_valid(schema, schema["default"]), name


def test_the_range_of_limit_is_the_policys():
    from dataclasses import replace

    policy = replace(DEFAULTS, max_page_size=70, default_page_size=7)
    limit = catalogue.get("list_bookings").schema(policy)["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 70, 7)


@pytest.mark.parametrize("operation", [each for each in EVERY if each.values[0].record_operation])
def test_what_a_list_opens_is_an_operation_of_one(operation: Operation):
    assert operation.record_operation is not None
    assert catalogue.get(operation.record_operation).kind in {Kind.RECORD, Kind.TEXT}


@pytest.mark.parametrize("operation", EVERY)
def test_an_example_of_fields_is_one_that_works(operation: Operation, doors: Doors):
    for name in operation.field_names:
        answer = doors.post(operation.name, {"fields": name, **NEEDED.get(operation.name, {})})
        assert "error" not in answer, name


def test_every_order_sorts_by_what_it_says(doors: Doors):
    """By each column, both ways; equals by id in the same direction, nulls last."""
    columns = {"list_bookings": BOOKINGS.orders, "list_transactions": TRANSACTIONS.orders}
    models: dict[str, Any] = {"list_bookings": Booking, "list_transactions": Transaction}
    for operation, orders in columns.items():
        for name, column in orders.items():
            for sign in ("", "-"):
                rows = doors.post(operation, {"order": f"{sign}{name}", "limit": 40, "fields": "id"})
                got = [row["id"] for row in rows["items"]]
                by_column = OrderBy(F(column), descending=bool(sign), nulls_last=True)
                expected = models[operation].objects.order_by(by_column, f"{sign}id")
                assert got == list(expected.values_list("id", flat=True)[: len(got)])
                assert len(got) == 40


@pytest.mark.parametrize(
    ("operation", "model"), [("list_bookings", Booking), ("list_transactions", Transaction), ("list_listings", Listing)]
)
def test_a_day_of_creation_is_from_its_first_second_to_its_last(operation: str, model: Any, doors: Doors):
    days = model.objects.dates("inserted_on", "day")
    for day in (days[0], days[len(days) // 2]):
        answer = doors.post(operation, {"createdFrom": str(day), "createdTo": str(day), "limit": 1, "fields": "id"})
        assert answer["meta"]["totalCount"] == model.objects.filter(inserted_on__date=day).count() > 0


def test_both_ends_of_a_range_are_in_it(doors: Doors):
    booking = Booking.objects.exclude(total_price=None).order_by("total_price")[100]
    for low, high, value in (
        ("minTotalPrice", "maxTotalPrice", float(booking.total_price or 0)),
        ("checkInFrom", "checkInTo", str(booking.check_in)),
        ("checkOutFrom", "checkOutTo", str(booking.check_out)),
    ):
        answer = doors.post("list_bookings", {low: value, high: value, "fields": "id", "limit": 200})
        assert booking.id in [row["id"] for row in answer["items"]]


def test_an_unknown_operation_stays_small_however_long_its_name():
    with pytest.raises(UnknownOperation) as refused:
        catalogue.get("x" * 5000)
    assert len(str(refused.value.document())) < 1000


def test_no_canonical_name_stands_for_one_upstream_field_and_hides_another():
    """A booking's status is the one that is converted, by design: `sourceStatus` and `fields=all` have upstream's."""
    for shape, objects in ((LISTINGS.shape, sample.listings()), (BOOKINGS.shape, list(sample.reservations(20)))):
        names = {name for each in objects for name in each}
        hiding = {
            field.name for field in shape.canonical.values() if field.name != field.source and field.name in names
        }
        assert hiding == set()


@pytest.fixture
def many_operations() -> Iterator[list[str]]:
    """As many as a large imported API has."""
    names = [f"list_things_{number}" for number in range(300)]
    catalogue.offer(replace(catalogue.get("list_bookings"), name=name) for name in names)
    yield names
    for name in names:
        catalogue.withdraw(name)


def test_a_long_tool_list_comes_in_pages_under_the_cap(many_operations: list[str], doors: Doors):
    doors.choose(tool_listing="all")
    listed, sizes = async_to_sync(listed_tools)(doors.key)
    assert listed == [operation.name for operation in catalogue if operation.listed]
    assert len(sizes) > 10
    assert max(sizes) <= DEFAULTS.hard_cap


async def listed_tools(key: str) -> tuple[list[str], list[int]]:
    """The names of all tools, and the tokens of each page."""
    names, sizes, cursor = [], [], None
    caller = await run_sync(caller_of_key, key)
    async with Client(build_server(Peer(caller, "stdio"))) as client:
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            sizes.append(tokens.claude.count(page.model_dump_json(by_alias=True, exclude_none=True)))
            cursor = page.next_cursor
            if cursor is None:
                return names, sizes


@pytest.mark.parametrize("cursor", ["nonsense", "", "another list's"])
def test_a_bad_cursor_into_the_tool_list_is_refused(api_key: str, cursor: str):
    async def refused() -> int:
        caller = await run_sync(caller_of_key, api_key)
        async with Client(build_server(Peer(caller, "stdio"))) as client:
            with pytest.raises(MCPError) as error:
                await client.list_tools(cursor=snapshots.sealer.seal("w", 1) if " " in cursor else cursor)
            return error.value.error.code

    assert async_to_sync(refused)() == INVALID_PARAMS
