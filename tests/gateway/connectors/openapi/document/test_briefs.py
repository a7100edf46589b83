"""A definition that would be huge is shown in brief, and is described, checked and called whole."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.connectors.openapi.document import briefs
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.mcp.tools import tool_list_of
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import operation, posting
from tests.simulators.shop import Shop, shop

MAX_TOKENS = 1500  # of a definition
WORDS = "The name of it, as it stands in the contract that was made with the shopper and with the acquirer."


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", "description": WORDS, "maxLength": 100, **more}


def thing(level: int, **properties: Any) -> dict[str, Any]:
    """An object of several texts, some required, and of another such object."""
    own = {f"{name}OfLevel{level}": text() for name in ("street", "house", "city", "country")}
    below = {"below": thing(level - 1)} if level else {}
    return {"type": "object", "required": [f"streetOfLevel{level}"], "properties": {**own, **below, **properties},
            "description": WORDS}  # fmt: skip


AMOUNT = {
    "type": "object",
    "required": ["currency", "value"],
    "properties": {"currency": text(), "value": {"type": "integer"}},
}
PAYMENT = {
    "type": "object",
    "required": ["amount", "merchantAccount"],
    "properties": {
        **{f"optional{n}": thing(3) for n in range(20)},
        **{f"text{n}": text(enum=[f"choice {n} {each}" for each in range(30)]) for n in range(20)},
        "amount": AMOUNT,
        "merchantAccount": text(),
    },
}


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        document = simulated.document
        body = {"required": True, "content": {"application/json": {"schema": PAYMENT}}}
        document["paths"] = {"/orders": {"post": {**document["paths"]["/orders"]["post"], "requestBody": body}}}
        plan = import_plan.plan(json.dumps(document).encode(), name="pay", source="pay.json")
        import_plan.store(plan, chosen={"POST /orders"})
        revisions.bump()
        yield simulated
    retain(())


def test_a_large_tool_costs_no_more_than_its_bound_in_a_list_and_in_the_preview(doors: Doors, api: Shop):
    doors.choose(tool_listing="all")
    listing = tool_list_of(caller_of_key(doors.key))
    definition = next(each for each in listing.definitions if each.tool.name == "pay_place_order")
    assert definition.tokens <= MAX_TOKENS
    assert 0 < ImportedOperation.objects.get().tokens <= MAX_TOKENS
    assert "describe_tool has all of them" in (definition.tool.description or "")
    assert "describe_tool" in listing.names


def test_describe_tool_is_listed_for_those_alone_who_are_shown_less(doors: Doors, api: Shop):
    doors.choose(tool_listing="all", hidden_tools=["pay_place_order"])
    assert "describe_tool" not in tool_list_of(caller_of_key(doors.key)).names


def test_all_of_it_is_had_from_describe_tool(doors: Doors, api: Shop):
    described = crawler.record(doors.mcp, "describe_tool", {"name": "pay_place_order", "fields": "all"})
    assert "in brief" not in described["description"]
    whole = described["inputSchema"]["properties"]
    assert set(PAYMENT["properties"]) <= set(whole)
    assert whole["text19"]["enum"][-1] == "choice 19 29"
    deep = crawler.record(
        doors.mcp, "describe_tool", {"name": "pay_place_order", "fields": "inputSchema.properties.optional7"}
    )
    assert "streetOfLevel3" in json.dumps(deep)


def test_what_the_brief_one_leaves_out_is_taken_and_checked_as_ever(doors: Doors, api: Shop):
    given = {"amount": {"currency": "EUR", "value": 1}, "merchantAccount": "m", "optional19": {"streetOfLevel3": "s"}}
    assert doors.mcp("pay_place_order", given)["meta"]
    assert api.orders == [given]
    error = doors.mcp("pay_place_order", {**given, "text19": "no choice"})["error"]
    assert error["data"]["parameter"] == "text19"
    assert len(api.orders) == 1


def test_what_every_call_needs_is_shown_whole_and_what_is_deep_goes_first():
    made = posting(PAYMENT)
    shown = made.shown or {}
    assert (shown["amount"], shown["merchantAccount"]) == (
        made.parameters["amount"],
        made.parameters["merchantAccount"],
    )
    assert shown["optional0"] == {"type": "object", "required": ["streetOfLevel3"]}
    few = {"type": "object", "required": ["amount"], "properties": {"amount": AMOUNT, "a": thing(3), "b": thing(3)}}
    shown = posting(few).shown or {}
    assert shown["a"]["properties"]["streetOfLevel3"] == {"type": "string", "maxLength": 100}
    assert shown["a"]["description"]
    several = {"type": "object", "properties": {each: thing(3) for each in "abcdef"}}
    below = (posting(several).shown or {})["a"]["properties"]["below"]
    assert below == {"type": "object", "required": ["streetOfLevel2"]}


def test_where_even_the_names_are_too_many_those_stay_that_every_call_needs():
    many = {f"an argument with a long name, of which there are many: {n}": {"type": "string"} for n in range(300)}
    needed = list(many)[-5:]
    shown = briefs.brief(many, needed)
    assert shown is not None
    assert set(needed) < shown.keys()
    assert len(json.dumps(shown)) <= briefs.MAX_BYTES * 1.1
    assert len(json.dumps(briefs.brief(many, many))) <= briefs.MAX_BYTES * 1.1


def test_what_a_body_needs_is_needed_also_where_the_body_is_not():
    body = {"content": {"application/json": {"schema": PAYMENT}}}
    made = operation({"requestBody": body}, method="post")
    assert made.required == ()
    assert (made.shown or {})["amount"] == made.parameters["amount"]


def test_a_tool_that_is_small_is_shown_as_it_is():
    assert posting(AMOUNT).shown is None


SCALARS = st.sampled_from([text(), {"type": "integer"}, {"type": "string", "enum": ["a", "b"] * 9}, {}])
SCHEMAS = st.recursive(
    SCALARS,
    lambda below: (
        st.builds(lambda items: {"type": "array", "items": items}, below)
        | st.builds(lambda each: {"type": "object", "additionalProperties": each}, below)
        | st.builds(lambda each: {"anyOf": each}, st.lists(below, min_size=2, max_size=3))
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), below, min_size=1).map(
            lambda each: {"type": "object", "properties": each, "required": sorted(each)[:1], "description": WORDS}
        )
    ),
    max_leaves=12,
)


@given(st.lists(SCHEMAS, min_size=1, max_size=120), st.integers(0, 120))
def test_it_is_never_over_its_bound_and_always_valid(schemas: list[dict[str, Any]], needed: int):
    arguments = {f"argument{n}": each for n, each in enumerate(schemas)}
    shown = briefs.brief(arguments, set(list(arguments)[:needed]))
    if shown is None:
        assert len(json.dumps(arguments, separators=(",", ":"), ensure_ascii=False).encode()) <= briefs.MAX_BYTES
        return
    assert len(json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()) <= briefs.MAX_BYTES
    assert shown.keys() <= arguments.keys()
    jsonschema_rs.validator_for({"type": "object", "properties": shown})
    assert all(each.get("type", kept) == kept for name, each in shown.items() if (kept := arguments[name].get("type")))
