"""Connections that are used again, and those that are not: how many, for how long, and what may be on them."""

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest

from gateway.upstreams import pool
from gateway.upstreams.addresses import PRIVATE_TOO
from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import UpstreamTooSlow, UpstreamUnavailable
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.request import Request
from tests.simulators.bad_upstream import OK, BadUpstream, Received, mode, reply

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@mode
async def parting(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    """An answer that does not say that the connection ends with it."""
    reply(writer, OK)
    await writer.drain()
    writer.close()


@mode
async def unasked(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    """An answer now, and another one when `release` says so."""
    reply(writer, OK)
    await writer.drain()
    await upstream._released.wait()
    reply(writer, b'"not asked for"')


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[str]:
    """The address of a server that does this with each connection, and closes it. Waits for its end."""
    tasks: list[asyncio.Task[None]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(ConnectionError):
            await serve(reader, writer)
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await asyncio.gather(*tasks)


async def idle_sockets() -> list[Any]:
    kept = (await pool.pool(PRIVATE_TOO))._idle
    return [each.transport.get_extra_info("socket") for each in kept if each.transport is not None]


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


def private(**limits: Any) -> Upstream:
    return Upstream("Acme", limits=CallLimits(attempts=1, **limits))


@pytest.fixture(autouse=True)
def inside(settings: Any) -> None:
    settings.ALLOW_PRIVATE_UPSTREAMS = True


async def test_what_may_not_be_repeated_is_sent_over_another_connection_if_its_own_was_closed_before(bad: BadUpstream):
    upstream = private()
    await upstream.fetch(Request("POST", f"{bad.url}/parting"))
    select.select(await idle_sockets(), [], [], 20)  # the loop does not know yet that the other side has closed it
    assert (await upstream.fetch(Request("POST", f"{bad.url}/ok"))).body == OK
    assert (bad.count, bad.connections) == (2, 2)


async def test_an_answer_that_nobody_asked_for_is_not_given_to_the_next_request(bad: BadUpstream):
    upstream = private()
    await upstream.fetch(Request("GET", f"{bad.url}/unasked"))
    bad.release()
    select.select(await idle_sockets(), [], [], 20)
    assert (await upstream.fetch(Request("GET", f"{bad.url}/ok"))).body == OK
    assert bad.connections == 2


async def test_nor_is_one_that_came_while_the_connection_was_idle(bad: BadUpstream):
    upstream = private()
    await upstream.fetch(Request("GET", f"{bad.url}/unasked"))
    (kept,) = (await pool.pool(PRIVATE_TOO))._idle
    bad.release()
    await until(lambda: kept.should_close)
    assert (await upstream.fetch(Request("GET", f"{bad.url}/ok"))).body == OK
    assert bad.connections == 2


async def test_only_so_many_connections_are_kept(bad: BadUpstream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "MAX_IDLE", 2)
    upstream = private()
    calls = [asyncio.create_task(upstream.fetch(Request("GET", f"{bad.url}/hold/{n}"))) for n in range(5)]
    await asyncio.to_thread(bad.wait_for, 5)
    bad.release()
    await asyncio.gather(*calls)
    await until(lambda: len(bad._tasks) == 2)
    await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    assert bad.connections == 5


async def test_a_connection_that_nobody_uses_is_closed(bad: BadUpstream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.05)
    await private().fetch(Request("GET", f"{bad.url}/ok"))
    await until(lambda: not bad._tasks, seconds=10)  # aiohttp alone would keep it for 15


async def test_who_cancels_a_call_closes_its_connection(bad: BadUpstream):
    call = asyncio.create_task(private().fetch(Request("GET", f"{bad.url}/drip")))
    await asyncio.to_thread(bad.wait_for, 1)
    call.cancel()
    await asyncio.wait([call])
    await until(lambda: not bad._tasks)


async def test_a_place_is_free_again_however_a_call_ends(bad: BadUpstream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)
    upstream = private(connect_seconds=0.5, total_seconds=0.2)
    nowhere = "http://127.0.0.1:1/"
    for url in (f"{bad.url}/hang", nowhere, f"{bad.url}/truncated", f"{bad.url}/announced"):
        with pytest.raises(Exception, match="Acme") as failure:
            await upstream.fetch(Request("GET", url))
        assert getattr(failure.value, "reason", "") != "upstream_crowded"
    assert (await private().fetch(Request("GET", f"{bad.url}/ok"))).body == OK


async def test_a_server_that_does_not_read_is_given_the_time_of_a_silent_one():
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await ended.wait()

    async with served(serve) as address:
        request = Request("POST", f"http://{address}/", body=bytes(16 * 2**20))
        with pytest.raises(UpstreamTooSlow, match=r"within 0\.1 seconds"):
            await private(read_seconds=0.1).fetch(request)
        ended.set()


async def test_what_is_not_sent_yet_is_not_sent_any_more_once_a_call_has_failed():
    """A closed connection would hold it until the server reads it."""
    failed, body, received = asyncio.Event(), bytes(64 * 2**20), list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await failed.wait()
        while data := await reader.read(2**20):
            received.append(len(data))

    async with served(serve) as address:
        with pytest.raises(UpstreamTooSlow):
            await private(read_seconds=0.1).fetch(Request("POST", f"http://{address}/", body=body))
        failed.set()
    assert 0 < sum(received) < len(body)


async def test_a_server_that_encrypts_nothing_is_given_the_time_of_a_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with served(serve) as address:
        with pytest.raises(UpstreamUnavailable, match=r"no connection within 0\.1 seconds"):
            await private(connect_seconds=0.1).fetch(Request("GET", f"https://{address}/"))


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_not_used(bad: BadUpstream, monkeypatch: pytest.MonkeyPatch, variable: str):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        assert (await private().fetch(Request("GET", f"{bad.url}/ok"))).body == OK
        assert select.select([proxy], [], [], 0) == ([], [], [])


def test_certificates_and_names_are_verified():
    context = pool.tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
