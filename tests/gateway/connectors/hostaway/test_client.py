"""The client against Hostaway's API as it is: envelopes, pages, tokens, and what goes wrong."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.connectors.hostaway.client import CHARGES, LISTINGS, RESERVATIONS, HostawayClient, Resource
from gateway.upstreams.errors import UpstreamError, UpstreamGarbled, UpstreamRefused, UpstreamUnavailable
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.simulators.hostaway import Hostaway, hostaway


@pytest.fixture
def upstream() -> Iterator[Hostaway]:
    with hostaway() as running:
        yield running


@pytest.fixture
def client(upstream: Hostaway) -> HostawayClient:
    return HostawayClient(upstream.url, PlainFetching(upstream.url))


async def walked(client: HostawayClient, resource: Resource, **options: Any) -> list[int]:
    """The ids of all pages, in order."""
    ids: list[int] = []
    position: int | None = 0
    while position is not None:
        page = await client.page(resource, position, **options)
        ids += [row["id"] for row in page.rows]
        position = page.next
    return ids


@pytest.mark.parametrize("resource", [LISTINGS, RESERVATIONS, CHARGES], ids=lambda resource: resource.name)
@pytest.mark.parametrize("rows", [0, 1, 99, 100, 101, 250])
async def test_all_pages_together_are_every_row_once(
    upstream: Hostaway, client: HostawayClient, resource: Resource, rows: int
):
    kept: dict[int, Any] = getattr(upstream, resource.name)
    kept |= {number: {"id": number, "updatedOn": "2026-11-20 10:00:00"} for number in range(1, rows + 1)}
    assert sorted(await walked(client, resource)) == list(range(1, rows + 1))


async def test_reservations_are_paged_by_the_last_id_and_never_by_offset(upstream: Hostaway, client: HostawayClient):
    upstream.fill(reservations=250)
    await walked(client, RESERVATIONS)
    queries = [seen.query for seen in upstream.calls("/reservations")]
    assert ["afterId" in query for query in queries] == [False, True, True]
    assert not any("offset" in query for query in queries)
    assert {query["limit"] for query in queries} == {"100"}


async def test_a_page_that_upstream_made_smaller_is_not_the_last(upstream: Hostaway, client: HostawayClient):
    upstream.fill(reservations=250)
    upstream.most_rows = 40
    assert len(await walked(client, RESERVATIONS)) == 250


@pytest.mark.parametrize("as_text", [False, True])
async def test_the_count_is_a_number_also_where_upstream_writes_text(
    upstream: Hostaway, client: HostawayClient, as_text: bool
):
    upstream.fill(reservations=3)
    upstream.counts_as_text = as_text
    assert (await client.page(RESERVATIONS)).total == 3


async def test_only_what_has_changed_since_a_day_is_asked_for(upstream: Hostaway, client: HostawayClient):
    upstream.reservations = {
        1: {"id": 1, "updatedOn": "2026-11-18 23:59:59"},
        2: {"id": 2, "updatedOn": "2026-11-19 00:00:00"},
    }
    assert await walked(client, RESERVATIONS, since="2026-11-19") == [2]


async def test_a_token_is_fetched_once_and_renewed_once_when_it_is_refused(upstream: Hostaway, client: HostawayClient):
    upstream.fill(reservations=1)
    upstream.tokens_wrapped = True
    for _ in range(3):
        await client.page(RESERVATIONS)
    assert len(upstream.calls("/accessTokens")) == 1
    upstream.revoke()
    await client.page(RESERVATIONS)
    assert len(upstream.calls("/accessTokens")) == 2


async def test_one_object_is_found_by_its_id_and_one_that_is_gone_is_none(upstream: Hostaway, client: HostawayClient):
    upstream.reservations = {7: {"id": 7, "guestName": "Ada"}}
    row = await client.one(RESERVATIONS, 7)
    assert row is not None
    assert row["guestName"] == "Ada"
    assert await client.one(RESERVATIONS, 8) is None


async def test_an_object_of_another_id_is_not_taken_for_the_one_asked_for(upstream: Hostaway, client: HostawayClient):
    upstream.reservations = {7: {"id": 8}}
    with pytest.raises(UpstreamGarbled):
        await client.one(RESERVATIONS, 7)


@pytest.mark.parametrize(
    ("mode", "error", "reason"),
    [
        ("failing", UpstreamUnavailable, "upstream_failed"),
        ("busy", UpstreamUnavailable, "upstream_busy"),
        ("down", UpstreamUnavailable, "upstream_unreachable"),
        ("garbage", UpstreamGarbled, "upstream_garbled"),
        ("html", UpstreamGarbled, "upstream_garbled"),
        ("fail", UpstreamRefused, "upstream_refused"),
    ],
)
async def test_each_failure_is_an_error_of_its_own(
    upstream: Hostaway, client: HostawayClient, mode: str, error: type[UpstreamError], reason: str
):
    upstream.mode = mode
    with pytest.raises(error) as raised:
        await client.page(RESERVATIONS)
    assert raised.value.reason == reason


async def test_the_text_of_a_refusal_is_repeated_as_a_value_and_never_in_our_words(
    upstream: Hostaway, client: HostawayClient
):
    upstream.mode = "fail"
    with pytest.raises(UpstreamRefused) as raised:
        await client.page(RESERVATIONS)
    error = raised.value.document()["error"]
    assert error["data"]["upstream"] == {"status": 200, "message": "The parameter is not right"}
    assert "parameter" not in error["message"]


@pytest.mark.parametrize("row", [{}, {"id": None}, {"id": "x"}, {"id": True}, [], 7, {"id": 2**63}, {"id": "1" * 5000}])
async def test_a_full_page_without_a_last_id_is_garbled_and_no_loop(
    upstream: Hostaway, client: HostawayClient, row: Any
):
    upstream.most_rows = 1
    upstream.reservations = {1: {"id": 1, "updatedOn": ""}}
    upstream._list = lambda rows, query: (200, {"status": "success", "limit": 1, "result": [row]})  # type: ignore[method-assign]
    with pytest.raises(UpstreamGarbled):
        await client.page(RESERVATIONS)


async def test_a_page_that_ends_where_it_began_is_garbled_and_no_loop(upstream: Hostaway, client: HostawayClient):
    upstream._list = lambda rows, query: (200, {"status": "success", "limit": 1, "result": [{"id": 5}]})  # type: ignore[method-assign]
    assert (await client.page(RESERVATIONS)).next == 5
    with pytest.raises(UpstreamGarbled):
        await client.page(RESERVATIONS, 5)
