"""The official client without its I/O: what it asks and what it reads is the same, only who asks is another."""

import asyncio
import socket
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

import orjson
import pytest
from nsip_client import NSIPClient

from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.needed_request import RequestNeeded
from gateway.upstreams.errors import UpstreamGarbled, UpstreamUnavailable
from gateway.upstreams.request import Read, Request, Response
from tests.gateway.connectors.nsip.fetching import PlainFetching
from tests.simulators.nsip import RETRY_AFTER, NsipSimulator
from tests.simulators.nsip_sheep import Sheep

T = TypeVar("T")

RAM = Sheep(640, 7331).lpn
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("get_date_last_updated", (), {}),
    ("get_available_breed_groups", (), {}),
    ("get_statuses_by_breed_group", (), {}),
    ("get_trait_ranges_by_breed", (640,), {}),
    ("get_trait_ranges_by_breed", (486,), {}),
    ("search_animals", (0, 15), {"breed_id": 641}),
    ("search_animals", (2, 100), {"breed_id": 641, "sorted_trait": "NLW", "reverse": True}),
    ("search_animals", (0, 5), {"search_criteria": {"breedId": 641, "gender": "Male", "provenOnly": True}}),
    ("get_animal_details", (RAM,), {}),
    ("get_lineage", (RAM,), {}),
    ("get_progeny", (RAM,), {}),
    ("get_progeny", (RAM, 2, 10), {}),
]


def api_of(nsip: NsipSimulator, fetching: Any = None, cache_seconds: float = 0.0) -> Nsip:
    return Nsip(fetching or PlainFetching(), nsip.url, lambda method: cache_seconds)


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@pytest.mark.parametrize("mode", ["new", "legacy"])
@pytest.mark.parametrize(("method", "args", "kwargs"), CALLS)
async def test_every_method_gives_what_the_official_client_gives(nsip, mode, method, args, kwargs):
    nsip.mode = mode
    with NSIPClient(base_url=nsip.url) as official:
        expected = await asyncio.to_thread(getattr(official, method), *args, **kwargs)
    answer = await api_of(nsip).ask(getattr(NSIPClient, method), *args, **kwargs)
    assert plain(answer.value) == plain(expected)
    theirs, ours = nsip.received
    assert (ours.method, ours.path) == (theirs.method, theirs.path)
    assert {name: value.lower() for name, value in ours.query.items()} == {
        name: value.lower() for name, value in theirs.query.items()
    }
    assert orjson.loads(ours.body or b"null") == orjson.loads(theirs.body or b"null")


async def test_the_client_itself_opens_no_connection(nsip, monkeypatch):
    class Recorded:
        async def fetch_and_read(
            self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
        ) -> tuple[Response, T]:
            response = Response(200, {}, b'["CURRENT"]')
            return response, await read(response)

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was opened")

    api = api_of(nsip, Recorded())
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert (await api.ask(NSIPClient.get_statuses_by_breed_group)).value == ["CURRENT"]


async def test_a_search_is_posted_with_a_json_body_even_where_nothing_narrows_it(nsip):
    await api_of(nsip).ask(NSIPClient.search_animals, 0, 5)
    assert nsip.received[0].body == b"{}"
    assert nsip.received[0].headers["content-type"] == "application/json"


async def test_a_profile_asks_for_its_three_parts_at_once(nsip):
    nsip.mode = "slow"
    asking = asyncio.create_task(api_of(nsip).profile(RAM))
    async with asyncio.timeout(20):
        while len(nsip.received) < 3:
            await asyncio.to_thread(nsip.waiting.wait, 0.01)
            await asyncio.sleep(0)
    nsip.release.set()
    profile = (await asking).value
    assert profile.details.lpn_id == profile.lineage.subject.lpn_id == RAM
    assert profile.progeny.total_count == 25


# -- Answers that are kept ----------------------------------------------------------------------------


async def test_the_same_question_in_another_order_is_asked_once(nsip):
    api = api_of(nsip, cache_seconds=3600)
    first = {"search_criteria": {"breedId": 641, "status": "SOLD"}, "reverse": True, "sorted_trait": "BWT"}
    other = {"sorted_trait": "BWT", "search_criteria": {"status": "SOLD", "breedId": 641}, "reverse": True}
    one = await api.ask(NSIPClient.search_animals, 0, 15, **first)
    another = await api.ask(NSIPClient.search_animals, **other)
    assert one == another
    assert len(nsip.received) == 1


def test_a_question_is_the_same_request_in_whatever_order_it_is_put():
    one = RequestNeeded(
        "POST", "search/x", {"page": 0, "reverse": True, "breedId": None}, {"b": 1, "a": {"d": 2, "c": 3}}
    )
    other = RequestNeeded("POST", "search/x", {"reverse": True, "page": 0}, {"a": {"c": 3, "d": 2}, "b": 1})
    assert one.request("http://nsip/api/") == other.request("http://nsip/api")
    assert one.request("http://nsip/api").url == "http://nsip/api/search/x?page=0&reverse=true"
    assert one.request("http://nsip/api").may_be_repeated


async def test_for_how_long_an_answer_is_kept_goes_by_the_method(nsip):
    asked: list[tuple[str, float]] = []

    class Noting(PlainFetching):
        async def fetch_and_read(
            self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
        ) -> tuple[Response, T]:
            asked.append((request.url.rpartition("/")[2].partition("?")[0], cache_seconds))
            return await super().fetch_and_read(request, read, cache_seconds=cache_seconds)

    api = Nsip(Noting(), nsip.url, {"get_lineage": 60.0, "get_statuses_by_breed_group": 3600.0}.__getitem__)
    await api.ask(NSIPClient.get_lineage, RAM)
    await api.ask(NSIPClient.get_statuses_by_breed_group)
    assert asked == [("getLineage", 60.0), ("getStatusesByBreedGroup", 3600.0)]


@pytest.mark.parametrize("mode", ["garbage", "login", "anonymous", "empty", "busy", "failing", "down"])
async def test_a_failure_is_not_given_again_once_upstream_has_recovered(nsip, mode):
    api = api_of(nsip, cache_seconds=3600)
    nsip.mode = mode
    with pytest.raises((UpstreamGarbled, UpstreamUnavailable)):
        await api.ask(NSIPClient.get_animal_details, RAM)
    nsip.mode = "new"
    assert (await api.ask(NSIPClient.get_animal_details, RAM)).value.lpn_id == RAM


# -- Failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["garbage", "login", "anonymous", "empty"])
@pytest.mark.parametrize(("method", "args", "kwargs"), CALLS)
async def test_what_is_no_answer_is_an_error_with_status_200_too(nsip, mode, method, args, kwargs):
    nsip.mode = mode
    with pytest.raises(UpstreamGarbled) as raised:
        await api_of(nsip).ask(getattr(NSIPClient, method), *args, **kwargs)
    data = raised.value.document()["error"]["data"]
    assert (data["parameter"], data["value"]) == ("method", method)


async def test_half_an_emoji_in_a_text_is_replaced_and_the_rest_is_read(nsip):
    nsip.details[RAM] = {"flockCount": "half an emoji: \ud83d", "number": 123456789012345678901}
    raw = (await api_of(nsip).ask(NSIPClient.get_animal_details, RAM)).value.raw_data["data"]
    assert (raw["flockCount"], raw["number"]) == ("half an emoji: ?", "123456789012345678901")


ODD = [
    b"null", b"7", b'"text"', b"[]", b"{}", b"[null]", b'{"data": null}', b'{"data": []}', b'{"data": {}}',
    b'{"success": true, "data": {"searchResultViewModel": {"lpnId": ""}}}', b'{"records": null}', b'{"records": [{}]}',
    b'{"records": [7], "recordCount": 1}', b'{"recordCount": 3}', b'{"lpnId": ""}', b'{"children": [1]}',
    b'{"data": {"searchResultViewModel": {"lpnId": ["64014"]}}}', b'{"lpnId": {"a": 1}}',
    b'{"lpnId": "64014", "children": [{"lpnId": ["x"]}]}', b'{"records": [], "recordCount": "25"}',
    b'{"data": {"searchResultViewModel": {"lpnId": "64014920", "bwt": "x"}}}', b'\xff\xfe{', b"[[" * 600 + b"]]" * 600,
    b'{"lpnId": "64014", "children": [' * 400 + b"]}" * 400,
]  # fmt: skip
ANIMALS = ["get_animal_details", "get_lineage", "get_progeny"]


@pytest.mark.parametrize("body", ODD)
@pytest.mark.parametrize("method", ANIMALS)
async def test_no_odd_answer_becomes_an_animal_or_an_error_of_ours(nsip, method, body):
    class Odd(PlainFetching):
        async def fetch_and_read(
            self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
        ) -> tuple[Response, T]:
            response = Response(200, {}, body)
            return response, await read(response)

    with pytest.raises(UpstreamGarbled):
        await api_of(nsip, Odd()).ask(getattr(NSIPClient, method), RAM)


async def test_an_ancestor_of_whom_nothing_is_known_is_no_failure(nsip):
    class Unknown(PlainFetching):
        async def fetch_and_read(
            self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
        ) -> tuple[Response, T]:
            response = Response(200, {}, b'{"lpnId": "64014", "children": [{"lpnId": null}, {"lpnId": ""}, {}]}')
            return response, await read(response)

    answer = await api_of(nsip, Unknown()).ask(NSIPClient.get_lineage, RAM)
    assert [each.lpn_id for each in answer.value.generations[0]] == [None, ""]


async def test_an_upstream_that_wants_to_be_left_alone_says_for_how_long(nsip):
    nsip.mode = "busy"
    with pytest.raises(UpstreamUnavailable) as raised:
        await api_of(nsip).ask(NSIPClient.get_lineage, RAM)
    error = raised.value.document()["error"]
    assert error["code"] == -32000
    assert error["data"]["retry_after"] == RETRY_AFTER
    assert (error["data"]["parameter"], error["data"]["value"]) == ("method", "get_lineage")
    assert error["data"]["suggestion"]


async def test_an_answer_from_before_upstream_went_away_says_so(nsip):
    class LastKnown(PlainFetching):
        async def fetch_and_read(
            self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
        ) -> tuple[Response, T]:
            response = Response(200, {}, b'{"date": "09/23/2025"}', as_of=1_763_000_000.0, stale=True)
            return response, await read(response)

    answer = await api_of(nsip, LastKnown()).ask(NSIPClient.get_date_last_updated)
    assert answer.note == {"stale": True, "asOf": "2025-11-13T02:13:20Z"}
