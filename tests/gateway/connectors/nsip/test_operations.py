"""The nine tools as a caller has them: what they answer, what they refuse, what they say when upstream fails."""

import asyncio
import json
import re
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from nsip_client import NSIPClient

from context_protection.core.errors import CallError, InvalidArgument, NotFound
from context_protection.core.policy import DEFAULTS, Kind
from gateway.catalog.catalog import catalogue
from gateway.connectors.nsip import inputs
from gateway.connectors.nsip.operations import OPERATIONS
from gateway.connectors.nsip.traits import TRAITS
from gateway.upstreams.errors import UpstreamError
from tests import crawler
from tests.simulators.nsip import RETRY_AFTER
from tests.simulators.nsip_sheep import STATUSES, Sheep, date_text
from tests.simulators.nsip_sheep import found as in_order

RAM = Sheep(640, 7331).lpn
NOBODY = "6401492020FZZ999"
NAMES = {*OPERATIONS.values(), "nsip_search_by_lpn"}
ANIMAL_TOOLS = {
    "nsip_get_animal": "search_string",
    "nsip_get_lineage": "lpn_id",
    "nsip_get_progeny": "lpn_id",
    "nsip_search_by_lpn": "lpn_id",
}


def official(nsip: Any) -> NSIPClient:
    return NSIPClient(base_url=nsip.url)


def without_meta(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "meta"}


# -- The tools --------------------------------------------------------------------------------------


async def test_there_are_nine_and_each_says_what_it_takes_and_when_it_is_summarised(desk):
    assert len(NAMES) == 9
    for name in NAMES:
        operation = catalogue.get(name)
        schema = operation.schema(DEFAULTS)
        assert len(operation.description) >= 10
        assert schema["properties"]["summarize"]["default"] is True
        assert "tokens" in operation.published_description(DEFAULTS)
        assert all(each.get("description") for each in schema["properties"].values())
        assert not {"key", "token", "password", "authorization"} & set(schema["properties"])  # NSIP asks for none


async def test_each_has_the_budget_and_the_cache_that_were_asked_for(desk):
    for name in NAMES:
        operation = catalogue.get(name)
        assert operation.settings["token_budget_threshold"] == 2000
        assert operation.settings["cache_seconds"] == 3600
        assert operation.kind is (Kind.LIST if name in {"nsip_search_animals", "nsip_get_progeny"} else Kind.RECORD)
        assert operation.is_async


# -- Answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "date"), [("new", "09/23/2025"), ("legacy", "2024-12-15")])
async def test_the_last_update_is_a_date_in_both_shapes(desk, mode, date):
    desk.nsip.mode = mode
    answer = await desk("nsip_get_last_update")
    assert without_meta(answer) == {"date": date}
    assert answer["meta"]["kind"] == "full"


@pytest.mark.parametrize("mode", ["new", "legacy"])
async def test_breeds_are_the_clients_breed_groups(desk, mode):
    desk.nsip.mode = mode
    with official(desk.nsip) as client:
        groups = await asyncio.to_thread(client.get_available_breed_groups)
    assert (await desk("nsip_list_breeds"))["breed_groups"] == [asdict(group) for group in groups]


async def test_statuses_are_upstreams(desk):
    assert (await desk("nsip_get_statuses"))["statuses"] == STATUSES


async def test_trait_ranges_are_numbers_for_every_breed(desk):
    katahdin = await desk("nsip_get_trait_ranges", breed_id=640)
    assert katahdin["NLB"] == {"min": -3.0, "max": -1.0}
    assert katahdin["BWT"] == {"min": -0.891, "max": 1.299}
    assert (await desk("nsip_get_trait_ranges", breed_id=486))["BWT"] == {"min": -0.713, "max": 0.0}


@pytest.mark.parametrize("mode", ["new", "legacy"])
async def test_an_animal_is_the_clients_dict_with_all_its_traits(desk, mode):
    desk.nsip.mode = mode
    with official(desk.nsip) as client:
        expected = (await asyncio.to_thread(client.get_animal_details, RAM)).to_dict()
    answer = without_meta(await desk("nsip_get_animal", search_string=f" {RAM} "))
    assert {**answer, "traits": None} == {**expected, "traits": None}
    assert list(answer["traits"]) == list(TRAITS if mode == "new" else TRAITS[:5])
    for name, trait in expected["traits"].items():
        assert answer["traits"][name]["value"] == trait["value"]
        assert abs(answer["traits"][name]["accuracy"] - (trait["accuracy"] or 0)) <= 1  # the client cuts percents off
    assert answer["total_progeny"] == 25


async def test_a_lineage_asked_for_whole_is_the_clients_dict_in_parts(desk):
    with official(desk.nsip) as client:
        expected = (await asyncio.to_thread(client.get_lineage, RAM)).to_dict()
    whole: dict[str, Any] = {}
    for section in ("parents", "generations", "raw"):
        whole |= without_meta(await desk("nsip_get_lineage", lpn_id=RAM, fields=section))
    assert whole == expected


async def test_a_search_page_has_upstreams_rows_and_total(desk):
    with official(desk.nsip) as client:
        expected = await asyncio.to_thread(client.search_animals, 0, 15, 640, "YSL", True)
    answer = await desk(
        "nsip_search_animals", breed_id=640, sorted_trait="YSL", reverse=True, fields="all", limit=5, format="items"
    )
    assert answer["items"] == expected.results[:5]
    assert answer["meta"]["totalCount"] == expected.total_count == 145_595


async def test_a_search_condenses_rows_to_what_tells_animals_apart(desk):
    answer = await desk("nsip_search_animals", breed_id=640, sorted_trait="ysl", format="items")
    assert desk.nsip.received[0].query["sortedBreedTrait"] == "YSL"
    assert len(answer["items"]) == 15
    row, sheep = answer["items"][0], Sheep.of(answer["items"][0]["LpnId"])
    assert row["Sire"] == sheep.parent(1).lpn
    assert row["Dam"] == sheep.parent(0).lpn
    best = re.findall(r"(\w+) (\S+)@(\S+)", row["TopTraits"])
    assert 0 < len(best) <= 3
    for trait, value, accuracy in best:
        assert json.loads(value) == sheep.value(trait.lower())
        assert json.loads(accuracy) == round(sheep.accuracy(trait.lower()) * 100) >= 50
    assert answer["meta"]["totalFields"] == 39


async def test_a_search_in_the_former_shape_is_condensed_as_well(desk):
    desk.nsip.mode = "legacy"
    answer = await desk("nsip_search_animals", breed_id=641, format="items", limit=60)
    row, sheep = answer["items"][0], Sheep(641, 0)
    assert answer["meta"]["kind"] == "preview"
    assert (row["LpnId"], row["Sire"], row["Dam"]) == (sheep.lpn, sheep.parent(1).lpn, sheep.parent(0).lpn)
    assert answer["meta"]["totalCount"] == 250
    answer = await desk("nsip_search_animals", breed_id=641, fields="LpnId,Gender,Status,DateOfBirth", limit=1)
    assert list(answer["items"][0].values()) == [sheep.lpn, sheep.gender, sheep.status, "1/1/2015"]


async def test_criteria_narrow_a_search_and_reach_upstream_in_its_own_spelling(desk):
    criteria = {"gender": "male", "born_after": "2020-12-31", "traitRanges": {"bwt": {"min": 5.5}}}
    answer = await desk("nsip_search_animals", breed_id=641, search_criteria=criteria, limit=200)
    sheep = [Sheep.of(row.get("LpnId") or row["lpnId"]) for row in answer["items"]]
    assert sheep
    assert all(each.gender == "Male" and each.born[0] > 2020 and each.value("bwt") >= 5.5 for each in sheep)
    assert answer["meta"]["totalCount"] == len(sheep)


async def test_who_asks_for_a_page_is_told_which_it_is(desk):
    answer = await desk("nsip_get_progeny", lpn_id=RAM, page=2, page_size=10)
    assert answer["meta"]["page"] == 2
    assert answer["meta"]["totalCount"] == 25
    assert len(answer["items"]) == 5
    answer = await desk("nsip_search_animals", breed_id=641, page=7, fields="lpnId")
    assert answer["items"][0]["lpnId"] == Sheep(641, 105).lpn
    assert answer["meta"]["page"] == 7


@pytest.mark.parametrize(("breed", "total"), [(486, 86), (641, 250)])
async def test_every_page_after_one_by_its_number_has_the_same_total(desk, breed, total):
    asked = {"breed_id": breed, "page": 1, "page_size": 30}
    page = await desk("nsip_search_animals", **asked)
    totals = [page["meta"]["totalCount"]]
    while "nextCursor" in page:
        page = await desk("nsip_search_animals", **asked, cursor=page["nextCursor"])
        totals.append(page["meta"]["totalCount"])
    assert len(totals) > 1
    assert set(totals) == {total}
    beyond = await desk("nsip_search_animals", breed_id=breed, page=40)
    assert (beyond["items"], beyond["meta"]["totalCount"]) == ([], total)


@pytest.mark.parametrize("size", [15, 100])
async def test_pages_by_their_number_leave_no_row_out(desk, size):
    found: list[str] = []
    for number in range(-(-250 // size)):
        page = await desk("nsip_search_animals", breed_id=641, page=number, page_size=size)
        assert page["meta"]["page"] == number
        found += [row.get("LpnId") or row["lpnId"] for row in crawler.rows(page)]
    assert found == [Sheep(641, number).lpn for number in range(250)]


async def test_a_page_by_its_number_goes_on_by_cursor(desk):
    asked = {"breed_id": 641, "page": 1, "page_size": 100, "summarize": False}
    first = await desk("nsip_search_animals", **asked)
    second = await desk("nsip_search_animals", **asked, cursor=first["nextCursor"])
    count = len(first["items"])
    assert [Sheep.of(row["lpnId"]).number for row in first["items"]] == list(range(100, 100 + count))
    assert Sheep.of(second["items"][0]["lpnId"]).number == 100 + count
    assert count < 100, "in this form a page does not fit"
    assert first["meta"]["notes"] == [
        f"Only {count} of the 100 rows fit. nextCursor continues after them; the next page number would skip the "
        "others."
    ]


@pytest.mark.parametrize("size", [15, 83])
async def test_every_page_of_a_walk_has_items_with_the_same_fields(desk, size):
    """83: the last page has a single row, of which a table would be larger."""
    page = await desk("nsip_search_animals", breed_id=641, limit=size)
    rows = list(page["items"])
    while "nextCursor" in page:
        page = await desk("nsip_search_animals", breed_id=641, limit=size, cursor=page["nextCursor"])
        rows += page["items"]
    assert [Sheep.of(row["LpnId"]).number for row in rows] == list(range(250))
    assert {tuple(row) for row in rows} == {("LpnId", "Sire", "Dam", "TopTraits")}


async def test_fields_that_condensed_rows_leave_out_can_be_queried(desk):
    groups = {"groupBy": ["Gender"], "metrics": [{"op": "count"}]}
    males = await desk("nsip_search_animals", breed_id=486, where={"Gender": "Male"}, aggregate=groups)
    assert [(each["Gender"], each["count"]) for each in males["groups"]] == [("Male", 43)]


@pytest.mark.parametrize("mode", ["new", "legacy"])
async def test_computed_and_renamed_fields_have_their_own_values_in_queries(desk, mode):
    desk.nsip.mode = mode
    asked = {"breed_id": 486, "limit": 1, "fields": "LpnId,TopTraits"}
    found = await desk("nsip_search_animals", **asked)
    best = found["items"][0]["TopTraits"]
    same = await desk("nsip_search_animals", **asked, where={"TopTraits": best, "Gender": "Female"})
    assert same["items"] == found["items"]
    handle = (await desk("nsip_search_animals", breed_id=486, format="handle"))["meta"]["resultHandle"]
    query = "SELECT TopTraits, Gender FROM rows LIMIT 1"
    (row,) = (await desk("result_query", handle=handle, sql=query))["items"]
    assert row == {"TopTraits": best, "Gender": "Female"}
    (row,) = (await desk("result_query", handle=handle, sql="SELECT * FROM rows LIMIT 1"))["items"]
    assert not [name for name in row if name.endswith("_2")]


async def test_a_list_that_is_kept_whole_goes_on_in_the_same_form(desk):
    first = await desk("nsip_search_animals", breed_id=486, format="items", limit=20)
    second = await desk("nsip_search_animals", cursor=first["nextCursor"])
    found = [Sheep.of(row["LpnId"]).number for row in first["items"] + second["items"]]
    assert found == list(range(40))
    assert set(second["items"][0]) == set(first["items"][0])
    assert len(desk.nsip.received) == 1


async def test_a_walk_by_cursor_over_three_of_upstreams_pages_has_no_gap(desk):
    found: list[str] = []
    page = await desk("nsip_search_animals", breed_id=641, sorted_trait="NLW", fields="lpnId", limit=60)
    while True:
        assert page["meta"]["totalCount"] == 250
        found += [row["lpnId"] for row in page["items"]]
        if "nextCursor" not in page:
            break
        page = await desk("nsip_search_animals", cursor=page["nextCursor"])
    assert found == [Sheep(*each).lpn for each in in_order("641", "{}", "NLW", None)]
    assert len(desk.nsip.received) == 3


async def test_offspring_come_with_their_total(desk):
    answer = await desk("nsip_get_progeny", lpn_id=RAM)
    assert len(answer["items"]) == 10
    assert answer["meta"]["totalCount"] == 25
    assert answer["meta"]["hasMore"]


async def test_offspring_are_found_by_their_words(desk):
    every = (await desk("nsip_get_progeny", lpn_id=RAM, page_size=100))["items"]
    wanted = every[-1]["lpn_id"]
    answer = await desk("nsip_get_progeny", lpn_id=RAM, search=wanted.lower())
    assert [row["lpn_id"] for row in answer["items"]] == [wanted]
    assert (await desk("nsip_get_progeny", lpn_id=RAM, search="zyzzyva"))["items"] == []


# -- What is refused, before upstream is asked --------------------------------------------------------

LPNS: list[Any] = [
    "",
    " ",
    "     ",
    "123",
    "1234",
    "  12 ",
    None,
    7,
    True,
    [],
    {},
    ["64014920", "64014921"],
    "x" * 65,
    "6401\0492",
]
BREED_IDS: list[Any] = [0, -1, 1.5, "640a", "x", True, None, [], {}, 2**31, 1e30]
SEARCHES: list[dict[str, Any]] = [
    *({"page": page} for page in (-1, 1.5, "1a", True, 1_000_001, [], "last")),
    *({"page_size": size} for size in (0, -5, 101, 1000, "many", 2.5, True)),
    *({"breed_id": breed} for breed in BREED_IDS if breed is not None),
    *({"sorted_trait": trait} for trait in ("FAT", "weight", "", "B", 7, ["BWT", "WWT"], "DROP TABLE")),
    *({"reverse": reverse} for reverse in ("perhaps", 2, "t", [])),
    *({"search_criteria": criteria} for criteria in ("male", 7, [], True, [{}, {}])),
    {"search_criteria": {"colour": "white"}},
    {"search_criteria": {"gender": "ram"}},
    {"search_criteria": {"bornAfter": "yesterday"}},
    {"search_criteria": {"breedId": "x"}},
    {"search_criteria": {"provenOnly": 2}},
    {"search_criteria": {"traitRanges": {"FAT": {}}}},
    {"search_criteria": {"bornAfter": "2021-01-01", "bornBefore": "2020-01-01"}},
    {"limit": 0},
    {"limit": 201},
    {"pagesice": 15},
    {"breed": "Katahdin"},
    {"summarize": "perhaps"},
    {"cursor": "gAAAAinvented"},
]
BAD: list[tuple[str, dict[str, Any]]] = [
    *((tool, {name: lpn} if lpn is not None else {}) for tool, name in ANIMAL_TOOLS.items() for lpn in LPNS),
    *(("nsip_get_trait_ranges", {"breed_id": breed} if breed is not None else {}) for breed in BREED_IDS),
    *(("nsip_search_animals", given) for given in SEARCHES),
    *(("nsip_get_progeny", {"lpn_id": RAM, "page": page}) for page in (-1, "two", 0.5)),
    *(("nsip_get_progeny", {"lpn_id": RAM, "page_size": size}) for size in (0, 101, "ten")),
    *((tool, {"breed_id": 640}) for tool in ("nsip_get_last_update", "nsip_list_breeds", "nsip_get_statuses")),
    ("nsip_get_animal", {"animal": RAM}),
    ("nsip_get_lineage", {"search": RAM}),
]


async def test_more_than_a_hundred_bad_inputs_ask_upstream_nothing_and_say_what_is_wrong(desk):
    assert len(BAD) > 100
    for tool, arguments in BAD:
        with pytest.raises(CallError) as raised:
            await desk(tool, **arguments)
        error = raised.value.document()["error"]
        assert error["code"] == (-32003 if "cursor" in arguments else -32602), (tool, arguments)
        assert {"parameter", "value", "expected", "suggestion"} <= set(error["data"]), (tool, arguments)
    assert desk.nsip.received == []


@pytest.mark.parametrize(("tool", "name"), ANIMAL_TOOLS.items())
async def test_an_lpn_that_is_too_short_is_named_with_one_that_would_do(desk, tool, name):
    with pytest.raises(InvalidArgument) as raised:
        await desk(tool, **{name: "123"})
    assert raised.value.parameter == name
    assert raised.value.value == "123"
    assert "at least 5 characters" in raised.value.expected
    assert "6401492020FLE249" in raised.value.suggestion


# -- What upstream does wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "name"), ANIMAL_TOOLS.items())
async def test_an_animal_that_upstream_does_not_know_is_not_found(desk, tool, name):
    with pytest.raises(NotFound) as raised:
        await desk(tool, **{name: NOBODY})
    assert (raised.value.parameter, raised.value.value, raised.value.status) == (name, NOBODY, 404)
    assert "nsip_search_animals" in raised.value.suggestion


@pytest.mark.parametrize("mode", ["busy", "failing", "garbage", "login", "anonymous", "empty", "down"])
@pytest.mark.parametrize("tool", sorted(NAMES))
async def test_a_failure_of_upstream_names_the_method_and_what_to_do(desk, tool, mode):
    desk.nsip.mode = mode
    given = {ANIMAL_TOOLS[tool]: RAM} if tool in ANIMAL_TOOLS else {}
    with pytest.raises(UpstreamError) as raised:
        await desk(tool, **given, **({"breed_id": 640} if "ranges" in tool else {}))
    error = raised.value.document()["error"]
    assert error["code"] == -32000
    assert error["data"]["parameter"] == "method"
    assert hasattr(NSIPClient, error["data"]["value"])
    assert error["data"]["suggestion"]
    assert error["data"].get("retry_after") == {"busy": RETRY_AFTER, "down": 5}.get(mode)
    assert desk.nsip.url not in raised.value.message


@pytest.mark.parametrize("value", ["2020-01-01", "1/1/2020", "2020-01-01 10:00"])
@pytest.mark.parametrize("op", ["gt", "gte", "lt", "lte"])
@pytest.mark.parametrize(
    ("operation", "asked", "name"),
    [
        ("nsip_search_animals", {"breed_id": 641}, "DateOfBirth"),
        ("nsip_search_animals", {"breed_id": 641}, "dateOfBirth"),
        ("nsip_get_progeny", {"lpn_id": RAM}, "date_of_birth"),
    ],
)
async def test_dates_with_the_year_last_are_not_compared_as_texts(desk, operation, asked, name, op, value):
    """As texts, 6/22/2015 comes after 2020-01-01: more than half of all animals would count as born since 2020."""
    with pytest.raises(InvalidArgument) as raised:
        await desk(operation, **asked, where={name: {op: value}})
    assert raised.value.reason == "invalid_where"
    assert f"strptime({name}, '%m/%d/%Y')" in raised.value.suggestion


async def test_the_sql_that_the_error_names_compares_dates_with_the_year_last(desk):
    handle = (await desk("nsip_search_animals", breed_id=641, format="handle"))["meta"]["resultHandle"]
    sql = "SELECT count(*) AS born FROM rows WHERE strptime(dateOfBirth, '%m/%d/%Y') >= '2020-01-01'"
    (row,) = (await desk("result_query", handle=handle, sql=sql))["items"]
    assert row["born"] == sum(Sheep(641, number).born[0] >= 2020 for number in range(250))
    one = Sheep(641, 3)
    found = await desk(
        "nsip_search_animals", breed_id=641, where={"lpnId": one.lpn, "DateOfBirth": date_text(one.born)}
    )
    assert len(found["items"]) == 1, "equal texts are equal dates"


# -- The answer's form, by the client's names ---------------------------------------------------------


def test_the_clients_names_say_which_form_is_asked_for():
    form = partial(inputs.form, page_size=15)
    assert form({"lpn_id": RAM}) == form({"summarize": True}) == {}
    assert form({"summarize": False}) == {"fields": "all"}
    assert form({"page_size": 40, "page": 1}) == {"limit": 40, "pages": "1"}
    assert form({"page": 1}) == {"limit": 15, "pages": "1"}
