"""The events by which pages show when a breaker was open: one when it opens, and one whenever that ends."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.registry import UpstreamRegistry
from telemetry import events
from telemetry.models import Event
from tests.gateway.upstreams.conftest import Time, failed, get
from tests.simulators.bad_upstream import BadUpstream

pytestmark = pytest.mark.django_db

Make = Callable[..., Upstream]


@pytest.fixture
def upstream(acme: Make) -> Upstream:
    return acme(limits=CallLimits(attempts=1))


def fail(upstream: Upstream, bad: BadUpstream) -> None:
    """Opens the breaker."""

    async def calls() -> None:
        for _ in range(5):
            await failed(upstream, get(bad, "/broken"))

    asyncio.run(calls())
    assert upstream.state().is_down


def recorded() -> list[tuple[str, str, str]]:
    assert events.flush()
    found = Event.objects.filter(kind=Event.EventKind.BREAKER).order_by("pk")
    return [(each.subject, each.after, each.reason) for each in found]


OPENED_AND_CLOSED = [("Acme", "open", "upstream_failed"), ("Acme", "closed", "")]


@pytest.mark.parametrize("answer", ["/ok", "/given", "/busy"])
def test_a_breaker_that_a_trial_closes_whatever_its_answer_is(
    bad: BadUpstream, upstream: Upstream, time: Time, answer: str
):
    bad.status = 404
    fail(upstream, bad)
    time.now += 5

    async def trial() -> None:
        with suppress(UpstreamError):  # statuses 404 and 429 are answers, too
            await upstream.fetch(get(bad, answer))

    asyncio.run(trial())
    assert upstream.state().breaker == "closed"
    assert recorded() == OPENED_AND_CLOSED


def replace(registry: UpstreamRegistry) -> None:
    registry.register(Upstream("Acme"))


def remove(registry: UpstreamRegistry) -> None:
    registry.remove("Acme")


@pytest.mark.parametrize("drop", [replace, remove])
def test_a_breaker_whose_upstream_is_dropped(
    bad: BadUpstream, upstream: Upstream, drop: Callable[[UpstreamRegistry], None]
):
    registry = UpstreamRegistry()
    registry.register(upstream)
    fail(upstream, bad)
    drop(registry)
    assert recorded() == OPENED_AND_CLOSED


@pytest.mark.parametrize("drop", [replace, remove])
def test_a_closed_breaker_leaves_no_event(upstream: Upstream, drop: Callable[[UpstreamRegistry], None]):
    registry = UpstreamRegistry()
    registry.register(upstream)
    drop(registry)
    assert recorded() == []


@pytest.mark.parametrize("drop", [replace, remove])
def test_the_calls_in_flight_of_a_dropped_upstream_leave_no_event(
    bad: BadUpstream, upstream: Upstream, drop: Callable[[UpstreamRegistry], None]
):
    registry = UpstreamRegistry()
    registry.register(upstream)
    drop(registry)
    fail(upstream, bad)
    assert recorded() == []


@pytest.mark.parametrize("drop", [replace, remove])
def test_an_open_breaker_of_a_dropped_upstream_closes_once(
    bad: BadUpstream, upstream: Upstream, time: Time, drop: Callable[[UpstreamRegistry], None]
):
    registry = UpstreamRegistry()
    registry.register(upstream)
    fail(upstream, bad)
    drop(registry)
    time.now += 5
    asyncio.run(upstream.fetch(get(bad, "/ok")))
    assert recorded() == OPENED_AND_CLOSED
