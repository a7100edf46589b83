"""One exchange with an upstream: each failure has an error of its own, and none takes too long or too much."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.tokens import claude
from gateway.upstreams import errors, pool, transport
from gateway.upstreams.addresses import PRIVATE_TOO, PUBLIC_ONLY, AllowedAddresses
from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTooLarge,
    UpstreamTooSlow,
    UpstreamUnavailable,
)
from gateway.upstreams.limits import DEFAULT_LIMITS, CallLimits
from gateway.upstreams.pool import MAX_CONNECTIONS
from gateway.upstreams.request import Request
from gateway.upstreams.transport import TooLong, Undecodable
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import OK, BadUpstream

MB = 2**20
Make = Callable[..., Upstream]
SHORT = CallLimits(total_seconds=0.4)

FAILURES = {
    "hang": "upstream_timeout",
    "slow_headers": "upstream_timeout",
    "drip": "upstream_timeout",
    "huge": "upstream_too_large",
    "bomb": "upstream_too_large",
    "announced": "upstream_too_large",
    "cut_gzip": "upstream_garbled",
    "brotli": "upstream_garbled",
    "truncated": "upstream_garbled",
    "bad_chunk": "upstream_garbled",
    "not_http": "upstream_garbled",
    "header_flood": "upstream_garbled",
    "loop": "upstream_redirect",
    "metadata": "upstream_address",
    "close": "upstream_unreachable",
    "reset": "upstream_unreachable",
    "busy": "upstream_busy",
    "busy_date": "upstream_busy",
    "busy_2099": "upstream_busy",
    "down": "upstream_failed",
    "broken": "upstream_failed",
}


@pytest.mark.parametrize(("mode", "reason"), FAILURES.items())
async def test_every_failure_has_a_short_error_of_its_own(bad: BadUpstream, acme: Make, mode: str, reason: str):
    upstream = acme(limits=SHORT if reason == "upstream_timeout" else DEFAULT_LIMITS)
    with pytest.raises(UpstreamError) as failure:
        await upstream.fetch(Request("GET", f"{bad.url}/{mode}?key=secret-word", {"X": "secret-word"}))
    document = failure.value.document()
    assert failure.value.reason == reason
    assert "Acme" in failure.value.message
    assert failure.value.suggestion
    assert claude.count(str(document)) <= 150
    assert "secret" not in str(document)
    assert "127.0.0.1" not in str(document)


@pytest.mark.parametrize("mode", ["hang", "slow_headers", "drip"])
async def test_no_slowness_outlives_the_time_of_a_call(bad: BadUpstream, mode: str):

    begun = monotonic()
    with pytest.raises(UpstreamTooSlow, match=r"within 0\.4 seconds"):
        await Upstream("Acme", trusted=frozenset({bad.url}), limits=SHORT).fetch(Request("GET", f"{bad.url}/{mode}"))
    assert monotonic() - begun < PATIENCE


async def test_silence_is_given_up_before_the_time_of_a_call_is_over(bad: BadUpstream, acme: Make):
    limits = CallLimits(read_seconds=0.1)
    with pytest.raises(UpstreamTooSlow, match=r"within 0\.1 seconds"):
        await acme(limits=limits).fetch(Request("GET", f"{bad.url}/hang"))


@pytest.mark.parametrize("mode", ["huge", "bomb"])
async def test_what_is_too_large_takes_no_more_memory_than_it_may(bad: BadUpstream, acme: Make, mode: str):
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamTooLarge, match="more than 2 MB"):
            await acme(limits=CallLimits(most_bytes=2 * MB)).fetch(Request("GET", f"{bad.url}/{mode}"))
        assert tracemalloc.get_traced_memory()[1] < 8 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode", ["ok", "gzipped", "deflated", "raw_deflated"])
async def test_a_body_comes_without_its_packing(bad: BadUpstream, acme: Make, mode: str):
    assert (await acme().fetch(Request("GET", f"{bad.url}/{mode}"))).body == OK


async def test_a_body_in_crumbs_comes_whole(bad: BadUpstream, acme: Make):
    assert len((await acme().fetch(Request("GET", f"{bad.url}/crumbs"))).body) == 50_000


@pytest.mark.parametrize("mode", ["login", "bad_json", "nan", "deep", "duplicates", "surrogate", "utf16", "bigint"])
async def test_what_a_body_means_is_for_others_to_read(bad: BadUpstream, acme: Make, mode: str):
    assert (await acme().fetch(Request("GET", f"{bad.url}/{mode}"))).status == 200


async def echoed(bad: BadUpstream, upstream: Upstream, *request: Any) -> Any:
    method, path, *rest = request
    return (await upstream.fetch(Request(method, f"{bad.url}{path}", *rest))).json()


async def test_a_request_arrives_as_it_was_meant(bad: BadUpstream, acme: Make):
    seen = await echoed(bad, acme(), "POST", "/echo/a%2Fb?q=%C3%BC&r=1", {"X-Name": "välue"}, "{ü}".encode())
    assert (seen["method"], seen["path"], seen["query"]) == ("POST", "/echo/a%2Fb", "q=%C3%BC&r=1")
    assert seen["body"] == "{ü}"
    assert seen["headers"]["x-name"] == "välue"
    assert seen["headers"]["host"] == f"127.0.0.1:{bad.port}"
    assert seen["headers"]["content-length"] == "4"
    assert seen["headers"]["accept-encoding"] == "gzip, deflate"
    assert seen["headers"]["user-agent"].startswith("Sluice/")


async def test_what_belongs_to_the_connection_is_not_for_a_request_to_say(bad: BadUpstream, acme: Make):
    odd = {"Host": "evil", "Content-Length": "999", "Transfer-Encoding": "chunked", "Accept-Encoding": "br"}
    headers = (await echoed(bad, acme(), "POST", "/echo", odd, b"12"))["headers"]
    assert (headers["host"], headers["content-length"]) == (f"127.0.0.1:{bad.port}", "2")
    assert headers["accept-encoding"] == "gzip, deflate"
    assert "transfer-encoding" not in headers


@pytest.mark.parametrize("headers", [{"X": "a\r\nEvil: 1"}, {"X": "静か"}, {"X\n": "a"}, {"Ü": "a"}])
async def test_a_header_that_http_cannot_carry_is_refused(bad: BadUpstream, acme: Make, headers: dict[str, str]):
    with pytest.raises(UpstreamRefused, match="cannot be sent"):
        await acme().fetch(Request("GET", f"{bad.url}/ok", headers))
    assert bad.count == 0


async def test_cookies_are_not_kept_and_not_passed_on(bad: BadUpstream, acme: Make):
    bad.headers = {"Set-Cookie": "session=1", "Content-Type": "application/json"}
    upstream = acme()
    assert "set-cookie" not in (await upstream.fetch(Request("GET", f"{bad.url}/given"))).headers
    assert "cookie" not in (await echoed(bad, upstream, "GET", "/echo"))["headers"]


async def test_a_connection_is_used_again(bad: BadUpstream, acme: Make):
    upstream = acme()
    for _ in range(5):
        await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    assert (bad.count, bad.connections) == (5, 1)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_connection_that_was_closed_meanwhile_is_replaced_without_an_attempt(
    bad: BadUpstream, acme: Make, how: str
):
    upstream = acme(limits=CallLimits(attempts=1))
    for _ in range(3):
        assert (await upstream.fetch(Request("GET", f"{bad.url}/second/{how}"))).body == OK
    assert bad.connections == 3


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_what_may_not_be_repeated_is_not_sent_again_over_another_connection(
    bad: BadUpstream, acme: Make, how: str
):
    upstream = acme()
    await upstream.fetch(Request("POST", f"{bad.url}/second/{how}"))
    with pytest.raises(errors.UpstreamUnavailable):
        await upstream.fetch(Request("POST", f"{bad.url}/second/{how}"))
    assert bad.count == 2


async def test_the_head_of_something_large_is_no_body(bad: BadUpstream, acme: Make):
    assert (await acme().fetch(Request("HEAD", f"{bad.url}/announced"))).body == b""


async def test_an_empty_answer_is_an_answer(bad: BadUpstream, acme: Make):
    response = await acme().fetch(Request("DELETE", f"{bad.url}/empty"))
    assert (response.status, response.body) == (204, b"")


async def test_an_answer_of_several_equal_headers_has_them_all(bad: BadUpstream, acme: Make):
    bad.headers = {"Link": "<a>; rel=next\r\nLink: <b>; rel=last"}
    response = await acme().fetch(Request("GET", f"{bad.url}/given"))
    assert response.headers["link"] == "<a>; rel=next, <b>; rel=last"


async def test_what_no_one_asked_for_is_garbled(bad: BadUpstream, acme: Make):
    bad.status = 304
    with pytest.raises(UpstreamGarbled):
        await acme().fetch(Request("GET", f"{bad.url}/given"))


async def chunks(data: bytes, size: int = 65536) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.binary(max_size=5000), st.integers(1, 700), st.sampled_from(["", "identity", "gzip", "GZIP", "deflate"]))
def test_what_was_packed_comes_out_whole_however_it_is_cut(data: bytes, size: int, encoding: str):
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding.lower(), bytes)(data)
    assert asyncio.run(transport.read_body(chunks(packed, size), encoding, 5000)) == data


@pytest.mark.parametrize("length", [transport.STEP - 1, transport.STEP, transport.STEP + 1, 3 * transport.STEP])
async def test_what_unpacks_to_much_comes_out_whole(length: int):
    data = bytes(length)
    assert await transport.read_body(chunks(gzip.compress(data)), "gzip", MB) == data


async def test_deflate_without_a_header_is_read_too():
    packed = zlib.compress(b"words " * 1000)[2:-4]
    assert await transport.read_body(chunks(packed), "deflate", MB) == b"words " * 1000


async def test_its_last_byte_may_stand_for_much():
    """There is no trailer that would be left while something is still to come out."""
    for length in range(transport.STEP, transport.STEP + 300):
        packed = zlib.compress(bytes(length))[2:-4]
        assert len(await transport.read_body(chunks(packed), "deflate", MB)) == length


async def test_all_members_of_gzip_are_read_and_padding_is_not():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + bytes(20)
    assert await transport.read_body(chunks(packed, 7), "gzip", MB) == b"one two"


async def test_as_much_as_may_be_is_read_and_not_a_byte_more():
    assert len(await transport.read_body(chunks(bytes(1000)), "", 1000)) == 1000
    with pytest.raises(TooLong):
        await transport.read_body(chunks(bytes(1001)), "", 1000)


async def test_a_bomb_is_left_before_it_goes_off():
    packed = gzip.compress(bytes(100 * MB))
    tracemalloc.start()
    try:
        with pytest.raises(TooLong):
            await transport.read_body(chunks(packed), "gzip", MB)
        assert tracemalloc.get_traced_memory()[1] < 4 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "packed", [b"no gzip at all", gzip.compress(bytes(5000))[:-8] + b"12345678"], ids=["no gzip", "another sum"]
)
async def test_damaged_packing_is_said_so(packed: bytes):
    with pytest.raises(Undecodable, match="damaged"):
        await transport.read_body(chunks(packed), "gzip", MB)


async def test_packing_that_is_cut_off_is_said_so():
    with pytest.raises(Undecodable, match="truncated"):
        await transport.read_body(chunks(gzip.compress(b"words " * 5000)[:-12]), "gzip", MB)


async def test_packing_that_ends_before_anything_comes_out_is_cut_off():
    with pytest.raises(Undecodable, match="truncated"):
        await transport.read_body(chunks(gzip.compress(b"words")[:10]), "gzip", MB)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
async def test_a_packing_that_was_not_asked_for_is_not_guessed_at(encoding: str):
    with pytest.raises(Undecodable, match="not requested"):
        await transport.read_body(chunks(b"xx"), encoding, MB)


@pytest.mark.parametrize(
    ("data", "size"),
    [(gzip.compress(bytes(10 * MB)), 65536), (gzip.compress(bytes(5000), 0), 1)],
    ids=["packed", "not packed"],
)
async def test_others_have_their_turn_while_much_is_unpacked_or_crumbs_are_read(data: bytes, size: int):
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await transport.read_body(chunks(data, size), "gzip", 20 * MB)
    task.cancel()
    assert turns > 20


async def test_upstreams_that_may_connect_to_the_same_share_connections_and_others_do_not():
    assert await pool.pool(PUBLIC_ONLY) is await pool.pool(AllowedAddresses())
    assert await pool.pool(PUBLIC_ONLY) is not await pool.pool(PRIVATE_TOO)


async def test_what_was_closed_is_opened_again_when_it_is_needed(bad: BadUpstream, acme: Callable[..., Upstream]):
    upstream = acme()
    await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    await pool.close_connections()
    await upstream.fetch(Request("GET", f"{bad.url}/ok"))
    assert bad.connections == 2


async def test_when_every_connection_is_taken_a_call_does_not_wait_for_long(
    bad: BadUpstream, acme: Callable[..., Upstream]
):
    slow = acme(limits=CallLimits(concurrent=2 * MAX_CONNECTIONS))
    calls = [asyncio.create_task(slow.fetch(Request("GET", f"{bad.url}/hang/{n}"))) for n in range(MAX_CONNECTIONS)]
    await asyncio.get_running_loop().run_in_executor(None, bad.wait_for, MAX_CONNECTIONS)
    healthy = acme(limits=CallLimits(connect_seconds=0.1))
    with pytest.raises(UpstreamUnavailable, match="no connection free") as failure:
        await healthy.fetch(Request("GET", f"{bad.url}/ok"))
    assert failure.value.reason == "upstream_crowded"
    assert healthy.state().last_failure_at is None
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
