"""The connections of an event loop, which all upstreams share."""

import asyncio
from collections.abc import Callable

import pytest

from gateway.upstreams import clients
from gateway.upstreams.addresses import PRIVATE_TOO, PUBLIC_ONLY, Allowed
from gateway.upstreams.clients import MOST_CONNECTIONS
from gateway.upstreams.errors import UpstreamUnavailable
from gateway.upstreams.exchanges import Request
from gateway.upstreams.upstream import Limits, Upstream
from tests.simulators.bad_upstream import BadUpstream


async def test_upstreams_that_may_connect_to_the_same_share_connections_and_others_do_not():
    assert await clients.pool(PUBLIC_ONLY) is await clients.pool(Allowed())
    assert await clients.pool(PUBLIC_ONLY) is not await clients.pool(PRIVATE_TOO)


async def test_what_was_closed_is_opened_again_when_it_is_needed(bad: BadUpstream, acme: Callable[..., Upstream]):
    upstream = acme()
    await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    await clients.close()
    await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    assert bad.connections == 2


async def test_when_every_connection_is_taken_a_call_does_not_wait_for_long(
    bad: BadUpstream, acme: Callable[..., Upstream]
):
    slow = acme(limits=Limits(concurrent=2 * MOST_CONNECTIONS))
    calls = [asyncio.create_task(slow.fetch(Request("GET", f"{bad.url}/hang/{n}"))) for n in range(MOST_CONNECTIONS)]
    await asyncio.get_running_loop().run_in_executor(None, bad.wait_for, MOST_CONNECTIONS)
    healthy = acme(limits=Limits(connect_seconds=0.1))
    with pytest.raises(UpstreamUnavailable, match="no connection free") as failure:
        await healthy.fetch(Request("GET", f"{bad.url}/ok"))
    assert failure.value.reason == "upstream_crowded"
    assert healthy.state().last_failure_at is None
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
