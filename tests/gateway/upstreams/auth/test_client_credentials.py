"""Tokens of OAuth 2.0 client credentials: fetched once for all calls, and renewed in time or when rejected."""

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from gateway.upstreams.auth.client_credentials import MARGIN_SECONDS, ClientCredentials, renewal_seconds
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.connections import AuthKind, ClientPlace, Connection
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamUnavailable,
)
from gateway.upstreams.request import Request, Response, Send
from tests.gateway.upstreams.conftest import Time
from tests.patience import PATIENCE
from tests.simulators.token_server import TokenServer, token_server

BASE = "https://api.example.com/v1"
SECRET = "canary-9f3c1d7e55"
REFUSED = Response(401, {}, b"")


def connection(**fields: Any) -> Connection:
    sealed = vault().seal(SECRET)
    kind = AuthKind.CLIENT_CREDENTIALS
    return Connection(name="acme", base_url=BASE, kind=kind, sealed_secret=sealed, **fields)


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with token_server() as tokens:
        yield tokens


def with_tokens(server: TokenServer, time: Time, **fields: Any) -> ClientCredentials:
    made = connection(**{"client_id": "me", "token_url": server.url, **fields})
    return ClientCredentials(made, SECRET, clock=time, sleep=time.sleep)


@asynccontextmanager
async def sending() -> AsyncIterator[Send]:
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:

        async def send(request: Request) -> Response:
            answer = await client.request(
                request.method, request.url, headers=dict(request.headers), content=request.body
            )
            return Response(answer.status_code, dict(answer.headers), answer.content)

        yield send


async def carried(authentication: ClientCredentials, send: Send) -> str:
    headers = {"X-Api-Thing": "the API's", "Cookie": "the API's"}
    sent = await authentication.apply(Request("GET", f"{BASE}/items", headers), send)
    return sent.headers["Authorization"].removeprefix("Bearer ")


async def test_a_token_is_fetched_at_the_first_need_and_then_kept(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    assert server.requests == []
    async with sending() as send:
        assert [await carried(authentication, send) for _ in range(5)] == ["token-1"] * 5
    assert len(server.requests) == 1


async def test_client_id_and_secret_go_into_a_header(server: TokenServer, time: Time):
    async with sending() as send:
        await carried(with_tokens(server, time, client_id="m e", scope="read write", audience="https://a"), send)
    (request,) = server.requests
    assert request.form == {"grant_type": "client_credentials", "scope": "read write", "audience": "https://a"}
    assert base64.b64decode(request.headers["authorization"].removeprefix("Basic ")) == f"m+e:{SECRET}".encode()
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"


async def test_or_into_the_body(server: TokenServer, time: Time):
    async with sending() as send:
        await carried(with_tokens(server, time, client_place=ClientPlace.BODY), send)
    (request,) = server.requests
    assert request.form == {"grant_type": "client_credentials", "client_id": "me", "client_secret": SECRET}
    assert "authorization" not in request.headers


async def test_who_issues_tokens_gets_nothing_that_is_meant_for_the_api(server: TokenServer, time: Time):
    async with sending() as send:
        await carried(with_tokens(server, time), send)
    assert "the API's" not in str(server.requests[0].headers)


async def test_a_hundred_calls_at_once_make_one_token_request(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.release.clear()
    async with sending() as send:
        calls = [asyncio.create_task(carried(authentication, send)) for _ in range(100)]
        await asyncio.to_thread(server.asked.wait, 5)
        server.release.set()
        assert set(await asyncio.gather(*calls)) == {"token-1"}
    assert len(server.requests) == 1


async def test_calls_of_several_loops_share_one_token_request(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.release.clear()
    got: list[str] = []
    begun = threading.Semaphore(0)

    async def call() -> None:
        async with sending() as send:
            begun.release()
            got.append(await carried(authentication, send))

    threads = [threading.Thread(target=asyncio.run, args=(call(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        await asyncio.to_thread(begun.acquire)
    await asyncio.to_thread(server.asked.wait, 5)
    server.release.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
    assert got == ["token-1"] * 4
    assert len(server.requests) == 1


async def test_whoever_fetches_may_be_cancelled_and_the_others_still_get_a_token(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.release.clear()
    async with sending() as send:
        first = asyncio.create_task(carried(authentication, send))
        await asyncio.to_thread(server.asked.wait, 5)
        others = [asyncio.create_task(carried(authentication, send)) for _ in range(10)]
        await asyncio.wait(others, timeout=0)
        first.cancel()
        server.release.set()
        assert set(await asyncio.gather(*others)) == {"token-2"}
        assert first.cancelled()
    assert len(server.requests) == 2


async def test_a_waiter_may_be_cancelled_and_the_others_still_get_a_token(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.release.clear()
    async with sending() as send:
        calls = [asyncio.create_task(carried(authentication, send)) for _ in range(10)]
        await asyncio.to_thread(server.asked.wait, 5)
        for waiter in calls[3:6]:
            waiter.cancel()
        await asyncio.wait(calls[3:6])
        server.release.set()
        assert set(await asyncio.gather(*calls[:3], *calls[6:])) == {"token-1"}
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("expires_in", "seconds"),
    [
        (3600, 3240),
        (63_072_000, 56_764_800),
        (100, 70),
        ("7200", 6480),
        (40, 20),
        (1, 0.5),
        (None, 3240),
        (0, 3240),
        (-5, 3240),
        ("soon", 3240),
        ("inf", 3240),
        ([], 3240),
    ],
)
def test_a_token_is_replaced_before_it_expires_and_never_at_each_call(expires_in: Any, seconds: float):
    assert renewal_seconds(expires_in) == pytest.approx(seconds)


async def test_a_token_is_replaced_when_its_time_has_come(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 3239
        assert await carried(authentication, send) == "token-1"
        time.now += 2
        assert await carried(authentication, send) == "token-2"
    assert MARGIN_SECONDS == 30


async def test_a_refused_token_is_renewed_once_for_all_who_were_refused(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 60
        renewed = await asyncio.gather(*(authentication.renewed(REFUSED, send) for _ in range(20)))
        assert renewed == [True] * 20
        assert await carried(authentication, send) == "token-2"
        assert await authentication.renewed(REFUSED, send), "it was refused with the token before, and comes late"
    assert len(server.requests) == 2


async def test_a_token_that_is_refused_at_once_is_not_renewed(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 4
        assert not await authentication.renewed(REFUSED, send)
    assert len(server.requests) == 1


async def test_an_api_that_always_refuses_does_not_get_a_token_each_time(server: TokenServer, time: Time):
    """403 may mean that the client may not do this; then a new token helps nobody."""
    authentication = with_tokens(server, time)
    async with sending() as send:
        for _ in range(3600):
            await carried(authentication, send)
            await authentication.renewed(Response(403, {}, b""), send)
            time.now += 1
    assert len(server.requests) <= 20


async def test_a_revoked_token_is_renewed_again_days_later(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.answer = {"access_token": "long", "expires_in": 63_072_000}
    async with sending() as send:
        await carried(authentication, send)
        for _ in range(3):
            time.now += 86_400
            assert await authentication.renewed(REFUSED, send)
    assert len(server.requests) == 4


async def test_after_renewals_that_did_not_help_the_next_comes_within_minutes(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        for _ in range(600):
            await carried(authentication, send)
            await authentication.renewed(REFUSED, send)
            time.now += 1
        before = len(server.requests)
        time.now += 300
        assert await authentication.renewed(REFUSED, send)
    assert len(server.requests) == before + 1


async def test_renewals_of_tokens_that_have_lived_make_nobody_wait_longer(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.answer = {"access_token": "long", "expires_in": 63_072_000}
    async with sending() as send:
        await carried(authentication, send)
        for _ in range(8):
            time.now += 86_400
            assert await authentication.renewed(REFUSED, send)
        time.now += 6
        assert await authentication.renewed(REFUSED, send)
    assert len(server.requests) == 10


async def test_a_renewed_token_that_is_refused_again_is_left_as_it_is(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 60
        assert await authentication.renewed(REFUSED, send)
        time.now += 6
        assert not await authentication.renewed(REFUSED, send)
    assert len(server.requests) == 2


async def test_a_token_that_another_thread_has_replaced_meanwhile_is_taken(server: TokenServer, time: Time):
    """Between the look at the clock and the request, another loop has fetched the next token."""

    async def elsewhere() -> None:
        async with sending() as send:
            await carried(authentication, send)

    def clock() -> float:
        if meanwhile:
            thread = threading.Thread(target=asyncio.run, args=(meanwhile.pop()(),))
            thread.start()
            thread.join()
        return time.now

    meanwhile: list[Any] = []
    made = connection(client_id="me", token_url=server.url)
    authentication = ClientCredentials(made, SECRET, clock=clock, sleep=time.sleep)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 3500
        meanwhile.append(elsewhere)
        assert await carried(authentication, send) == "token-2"
    assert len(server.requests) == 2


async def test_a_new_token_is_not_used_before_its_time(server: TokenServer, time: Time):
    authentication = with_tokens(server, time, usable_after=1.0)
    async with sending() as send:
        assert await carried(authentication, send) == "token-1"
        assert time.sleeps == [1.0]
        await carried(authentication, send)
    assert time.sleeps == [1.0]


async def test_a_token_may_come_wrapped(server: TokenServer, time: Time):
    server.answer = {"status": "success", "result": {"access_token": "wrapped", "expires_in": 100}}
    async with sending() as send:
        authentication = with_tokens(server, time)
        assert await carried(authentication, send) == "wrapped"
        time.now += 71
        await carried(authentication, send)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>Log in</html>",
        b"",
        b"\xff\xfe",
        [],
        "text",
        {},
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": "a\r\nX-Evil: 1"},
        {"access_token": "a b"},
        {"access_token": "ü"},
        {"result": None},
    ],
)
async def test_an_answer_without_a_token_is_told(server: TokenServer, time: Time, answer: Any):
    server.answer = answer
    async with sending() as send:
        with pytest.raises(UpstreamGarbled, match="acme answered without a token"):
            await carried(with_tokens(server, time), send)


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (400, UpstreamRefused, "upstream_credentials"),
        (401, UpstreamRefused, "upstream_credentials"),
        (302, UpstreamRefused, "upstream_credentials"),
        (429, UpstreamUnavailable, "upstream_busy"),
        (503, UpstreamUnavailable, "upstream_failed"),
    ],
)
async def test_a_refusal_names_upstream_and_status_and_no_secret(
    server: TokenServer, time: Time, status: int, kind: type[UpstreamError], reason: str
):
    server.status = status
    server.answer = {"error": f"no {SECRET}", "error_description": f"{SECRET} is wrong"}
    async with sending() as send:
        with pytest.raises(kind, match=f"acme answered {status}") as failed:
            await carried(with_tokens(server, time), send)
    assert failed.value.reason == reason
    assert SECRET not in str(failed.value.document())
    assert server.url not in str(failed.value.document())


async def test_what_a_token_endpoint_is_known_to_say_is_told(server: TokenServer, time: Time):
    server.status, server.answer = 401, {"error": "invalid_client", "error_description": SECRET}
    async with sending() as send:
        with pytest.raises(UpstreamRefused) as failed:
            await carried(with_tokens(server, time), send)
    assert failed.value.document()["error"]["data"]["upstream"] == {"status": 401, "message": "invalid_client"}


async def test_a_token_endpoint_that_refused_is_left_alone_for_a_while(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.status = 401
    async with sending() as send:
        for _ in range(5):
            with pytest.raises(UpstreamRefused):
                await carried(authentication, send)
        assert len(server.requests) == 1
        server.status = 200
        time.now += 11
        assert await carried(authentication, send) == "token-2"


async def test_a_renewal_that_fails_is_told_and_the_token_stays(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
        time.now += 60
        server.status = 503
        with pytest.raises(UpstreamUnavailable):
            await authentication.renewed(REFUSED, send)
        assert await carried(authentication, send) == "token-1"


async def test_a_failure_is_shared_and_the_next_call_tries_again(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    server.status = 503
    server.release.clear()
    async with sending() as send:
        calls = [asyncio.create_task(carried(authentication, send)) for _ in range(10)]
        await asyncio.to_thread(server.asked.wait, 5)
        server.release.set()
        failed = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(each, UpstreamUnavailable) for each in failed)
        assert len(server.requests) == 1
        server.status = 200
        assert await carried(authentication, send) == "token-2"


async def test_a_token_is_never_logged(server: TokenServer, time: Time, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    async with sending() as send:
        await carried(with_tokens(server, time), send)
    ours = [record for record in caplog.records if record.name.startswith("gateway")]
    assert [record.message for record in ours] == ["token fetched"]
    assert not any(word in str(record.__dict__) for record in ours for word in (SECRET, "token-1"))


async def test_a_token_is_masked_too(server: TokenServer, time: Time):
    authentication = with_tokens(server, time)
    async with sending() as send:
        await carried(authentication, send)
    assert "token-1" in authentication.secrets
    assert "token-1" not in repr(authentication.__dict__)
