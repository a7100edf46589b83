"""Hostaway and NSIP with values of many levels: what is read is had at either door, what is not is refused in words."""

from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.revisions import contents
from gateway.connectors.hostaway import sync
from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.models import Booking, SyncState
from gateway.connectors.hostaway.sync import SyncResult
from gateway.connectors.nsip.answers import DEEPEST as NSIP_DEEPEST
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import operations
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.gateway.connectors.nsip.fetching import PlainFetching as NsipFetching
from tests.offers import in_place
from tests.simulators.hostaway import ACCOUNT_ID, hostaway
from tests.simulators.nsip import NsipSimulator, nsip_simulator
from tests.simulators.nsip_sheep import Sheep

pytestmark = pytest.mark.django_db
RAM = Sheep(640, 7331).lpn


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [249, 250, 251])
def test_a_booking_of_as_many_levels_as_are_read_is_had_whole(
    doors: Doors, levels: int, django_capture_on_commit_callbacks: Any
):
    """`levels` of the page, of which its envelope, list and row are three."""
    with hostaway() as upstream:
        upstream.fill(listings=3, reservations=20)
        booking = min(upstream.reservations)
        upstream.reservations[booking]["deep"] = deep = nested(levels - 3)
        with django_capture_on_commit_callbacks(execute=True):
            ending = sync.run(ACCOUNT_ID, HostawayClient(upstream.url, PlainFetching(upstream.url)))
    contents.bump()
    try:
        left_out = SyncState.objects.get(resource="reservations").left_out
        assert Booking.objects.count() == 20 - len(left_out)
        for call in (doors.post, doors.mcp):
            if levels > 250:
                assert (ending, left_out) == (SyncResult.INCOMPLETE, {str(booking): "too_deep"})
                assert call("get_booking", {"id": booking})["error"]["reason"] == "not_found"
            else:
                assert (ending, left_out) == (SyncResult.DONE, {})
                assert crawler.from_parts(call, "get_booking", {"id": booking, "fields": "all"})["deep"] == deep
    finally:
        contents.bump()  # no other test sees what this one has


@pytest.fixture
def nsip() -> Iterator[NsipSimulator]:
    with nsip_simulator() as simulator:
        offered = operations(Nsip(NsipFetching(), simulator.url, lambda method: 0.0))
        with in_place(offered):
            yield simulator


@pytest.mark.parametrize("levels", [NSIP_DEEPEST, NSIP_DEEPEST + 1, 249, 251])
@pytest.mark.parametrize("door", ["post", "mcp"])
def test_an_animal_of_more_levels_than_are_read_is_refused(doors: Doors, nsip: NsipSimulator, door: str, levels: int):
    """`levels` of the answer, of which its envelope and data are two."""
    nsip.details[RAM] = {"remarks": nested(levels - 2)}
    answer = getattr(doors, door)("nsip_get_animal", {"search_string": RAM})
    if levels > NSIP_DEEPEST:
        assert answer["error"]["reason"] == "too_deep"
        assert "60 levels" in answer["error"]["data"]["expected"]
    else:
        assert "error" not in answer
