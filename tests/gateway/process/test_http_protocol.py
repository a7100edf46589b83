"""What a connection may ask before it is known who is calling: bytes on the wire, to a server with short limits."""

import asyncio
import contextlib
import json
from typing import Any

import pytest
from uvicorn.server import ServerState

from gateway.process.unfinished_requests import Unfinished
from tests.gateway.process.wire import Wire, Written, listening, protocols
from tests.patience import PATIENCE

HEAD_BYTES = 2000  # the limit of most tests here
HOST = b"Host: localhost\r\n"
POST = b"POST /echo HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Application:
    """Answers with what it was sent. `/refuse`: without reading it; `/slow`: when it is let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.calls: list[str] = []
        self.headers: dict[bytes, bytes] = {}
        self.gone = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.calls.append(scope["path"])
        if scope["path"] == "/refuse":
            await answer(send, 401, b"no")
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.set()
                return
            body, more = body + message["body"], message["more_body"]
        self.headers = dict(scope["headers"])
        if scope["path"] == "/slow":
            await self.let_go.wait()
        await answer(send, 200, body)


async def answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def get(path: str = "/echo", *headers: bytes) -> bytes:
    return b"GET " + path.encode() + b" HTTP/1.1\r\n" + HOST + b"".join(headers) + b"\r\n"


def post(body: bytes, path: str = "/echo") -> bytes:
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode(), HOST, len(body), body)


# -- Deadlines --------------------------------------------------------------------------------------


async def test_a_silent_connection_is_closed_without_a_word():
    async with listening(Application(), head_seconds=0.05) as server, server.connected() as wire:
        assert await wire.rest() == b""


@pytest.mark.parametrize(
    "begin",
    [get()[:-2], b"G", b"\r\n\r\nGET / HT", get()[:-2] + b"Upgrade: websocket\r\nConnection: upgrade\r\n"],
    ids=["headers", "one byte", "after empty lines", "a handshake"],
)
async def test_headers_that_do_not_end_are_answered_with_408(begin: bytes):
    async with listening(Application(), head_seconds=0.05) as server, server.connected() as wire:
        await wire.send(begin)
        assert await wire.refused() == (408, "request_timeout")


async def test_empty_lines_alone_keep_no_connection_open():
    async with listening(Application(), head_seconds=0.05) as server, server.connected() as wire:
        await wire.send(b"\r\n")
        assert await wire.rest() == b""


async def test_bytes_that_drip_do_not_move_the_deadline():
    async with listening(Application(), head_seconds=0.1) as server, server.connected() as wire:
        refused = asyncio.create_task(wire.refused())
        await wire.send(get()[:-2] + b"X-Drip: ")
        while not refused.done():
            with contextlib.suppress(ConnectionError):
                await wire.send(b"a")
            await asyncio.wait({refused}, timeout=0.01)
        assert await refused == (408, "request_timeout")


@pytest.mark.parametrize("begin", [post(b"x" * 10)[:-9], CHUNKED, CHUNKED + b"5\r\nab"])
async def test_a_body_that_does_not_end_is_answered_with_408_and_the_application_knows(begin: bytes):
    application = Application()
    async with listening(application, body_seconds=0.05) as server, server.connected() as wire:
        await wire.send(begin)
        assert await wire.refused() == (408, "request_timeout")
        await asyncio.wait_for(application.gone.wait(), PATIENCE)


async def test_the_deadline_is_of_each_request_of_a_connection():
    async with listening(Application(), head_seconds=0.3) as server, server.connected() as wire:
        await wire.send(get())
        assert (await wire.response()).status == 200
        await wire.send(get()[:-2])
        assert await wire.refused() == (408, "request_timeout")


async def test_an_answer_may_take_longer_than_the_request():
    application = Application()
    async with (
        listening(application, head_seconds=0.05, body_seconds=0.05) as server,
        server.connected() as wire,
        server.connected() as silent,
    ):
        await wire.send(post(b"hello", "/slow"))
        await silent.rest()  # the deadlines have passed
        application.let_go.set()
        assert (await wire.response()).body == b"hello"


async def test_a_client_that_reads_slowly_gets_the_whole_answer():
    body = b"x" * 4_000_000
    async with (
        listening(Application(), head_seconds=0.05, body_seconds=2) as server,
        server.connected() as wire,
        server.connected() as silent,
    ):
        await wire.send(post(body))
        await silent.rest()
        assert (await wire.response()).body == body


async def test_an_open_socket_outlives_the_deadlines():
    async def accept(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        message = await receive()
        await send({"type": "websocket.send", "text": message["text"]})

    async with (
        listening(accept, head_seconds=0.05, body_seconds=0.05) as server,
        server.connected() as wire,
        server.connected() as silent,
    ):
        await wire.send(
            get("/", b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
        )  # fmt: skip
        assert (await wire.response()).status == 101
        await silent.rest()
        await wire.send(b"\x81\x82\x00\x00\x00\x00hi")
        assert await asyncio.wait_for(wire.reader.readexactly(4), PATIENCE) == b"\x81\x02hi"
    assert len(server.unfinished) == 0


async def test_the_longest_unfinished_gives_way_where_there_are_too_many():
    async with (
        listening(Application(), Unfinished(most=2, grace=0)) as server,
        server.connected() as first,
        server.connected() as second,
        server.connected() as third,
    ):
        assert await first.rest() == b""
        for each in (second, third):
            await each.send(get())
            assert (await each.response()).status == 200


async def test_newcomers_in_one_moment_give_way_to_nobody():
    async with (
        listening(Application(), Unfinished(most=1, grace=60)) as server,
        server.connected() as first,
        server.connected() as second,
    ):
        await second.send(get())
        assert (await second.response()).status == 200
        await first.send(get())
        assert (await first.response()).status == 200
    assert len(server.unfinished) == 0


# -- Sizes ------------------------------------------------------------------------------------------


def head_of(size: int) -> bytes:
    rest = size - len(get("/echo", b"X-Long: \r\n"))
    return get("/echo", b"X-Long: " + b"a" * rest + b"\r\n")


async def test_headers_of_exactly_the_limit_are_taken():
    async with listening(Application(), head_bytes=HEAD_BYTES) as server, server.connected() as wire:
        await wire.send(head_of(HEAD_BYTES))
        assert (await wire.response()).status == 200


@pytest.mark.parametrize(
    "head",
    [
        head_of(HEAD_BYTES + 1),
        get()[:-2] + b"X-Long: " + b"a" * HEAD_BYTES,
        get()[:-2] + b"a: b\r\n" * HEAD_BYTES,
        b"GET /" + b"a" * HEAD_BYTES,
        b"\r\n" * HEAD_BYTES,
        get()[:-2] + b"Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: " + b"a" * HEAD_BYTES,
    ],
    ids=["one byte more", "a line without end", "many small ones", "an address", "empty lines", "a handshake"],
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_headers_over_the_limit_are_refused(head: bytes, at_once: bool):
    application = Application()
    async with listening(application, head_bytes=HEAD_BYTES) as server, server.connected() as wire:
        pieces = [head] if at_once else [head[start : start + 333] for start in range(0, len(head), 333)]
        for piece in pieces:
            await wire.send(piece)
        assert await wire.refused() == (431, "headers_too_large")
    assert application.calls == []


async def test_the_limit_is_of_each_request_of_a_connection():
    async with listening(Application(), head_bytes=HEAD_BYTES) as server, server.connected() as wire:
        for _ in range(3):
            await wire.send(head_of(HEAD_BYTES))
            assert (await wire.response()).status == 200


async def test_headers_that_end_between_two_packets_are_read():
    async with listening(Application()) as server, server.connected() as wire:
        whole = get()
        for byte in whole:
            await wire.send(bytes([byte]))
        assert (await wire.response()).status == 200


async def test_a_declared_length_over_the_limit_is_refused_before_the_body_is_sent():
    application = Application()
    async with listening(application, body_bytes=100) as server, server.connected() as wire:
        await wire.send(POST + b"Content-Length: 101\r\nExpect: 100-continue\r\n\r\n")
        response = await wire.response()
        assert (response.status, response.reason) == (413, "body_too_large")
        assert "100 bytes" in json.loads(response.body)["error"]["data"]["expected"]
    assert application.calls == []


@pytest.mark.parametrize("sent", [post(b"x" * 100), CHUNKED + b"64\r\n" + b"x" * 100 + b"\r\n0\r\n\r\n"])
async def test_a_body_of_exactly_the_limit_is_taken(sent: bytes):
    async with listening(Application(), body_bytes=100) as server, server.connected() as wire:
        await wire.send(sent)
        assert (await wire.response()).body == b"x" * 100


async def test_chunks_are_counted():
    application = Application()
    async with listening(application, body_bytes=100) as server, server.connected() as wire:
        await wire.send(CHUNKED + b"32\r\n" + b"x" * 50 + b"\r\n")
        await wire.send(b"33\r\n" + b"x" * 51 + b"\r\n")
        assert await wire.refused() == (413, "body_too_large")
        await asyncio.wait_for(application.gone.wait(), PATIENCE)


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"5;" + b"a" * 2 * HEAD_BYTES,
        CHUNKED + b"1;aaaaaaaa\r\nx\r\n" * HEAD_BYTES,
        CHUNKED + b"1\r\nx\r\n0\r\n" + b"a: b\r\n" * HEAD_BYTES,
        CHUNKED + b"0\r\nX-Long: " + b"a" * 2 * HEAD_BYTES,
    ],
    ids=["an extension", "many extensions", "trailers", "a trailer without end"],
)
async def test_what_is_neither_headers_nor_body_is_bounded_too(sent: bytes):
    async with listening(Application(), head_bytes=HEAD_BYTES) as server, server.connected() as wire:
        await wire.send(sent)
        assert await wire.refused() == (431, "headers_too_large")


async def test_small_chunks_of_a_large_body_are_taken():
    async with listening(Application(), head_bytes=HEAD_BYTES) as server, server.connected() as wire:
        await wire.send(CHUNKED + b"A\r\n0123456789\r\n" * 5000 + b"0\r\n\r\n")
        await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        assert await asyncio.wait_for(wire.reader.readexactly(50_000), PATIENCE) == b"0123456789" * 5000


async def test_trailers_are_not_headers():
    application = Application()
    async with listening(application) as server, server.connected() as wire:
        await wire.send(CHUNKED + b"1\r\nx\r\n0\r\nAuthorization: Bearer stolen\r\n\r\n")
        assert (await wire.response()).status == 200
    assert b"authorization" not in application.headers


@pytest.mark.parametrize(("path", "status"), [("/large", 200), ("/large?x=1", 200), ("/echo", 413)])
async def test_a_path_may_take_larger_bodies(path: str, status: int):
    async with (
        listening(Application(), body_bytes=100, large_bodies={"/large": 200}) as server,
        server.connected() as wire,
    ):
        await wire.send(post(b"x" * 150, path))
        assert (await wire.response()).status == status


@pytest.mark.parametrize(
    "sent", [post(b"x" * 201, "/large"), CHUNKED.replace(b"/echo", b"/large") + b"65\r\n" + b"x" * 101]
)
async def test_a_larger_body_says_how_large_it_is(sent: bytes):
    async with (
        listening(Application(), body_bytes=100, large_bodies={"/large": 200}) as server,
        server.connected() as wire,
    ):
        await wire.send(sent)
        assert await wire.refused() == (413, "body_too_large")


# -- How a connection ends --------------------------------------------------------------------------


async def test_a_client_reads_why_although_it_goes_on_sending():
    """20 MB, sent before the first byte is read."""
    async with listening(Application(), linger_seconds=PATIENCE) as server, server.connected() as wire:
        await wire.send(POST + b"Content-Length: 20000000\r\n\r\n")
        for _ in range(20):
            await wire.send(b"x" * 1_000_000)
        assert await wire.refused() == (413, "body_too_large")


async def test_what_is_sent_for_ever_is_not_read_for_ever():
    async with listening(Application(), linger_seconds=0.1, linger_bytes=1000) as server, server.connected() as wire:
        await wire.send(POST + b"Content-Length: 4000000000\r\n\r\n")
        with pytest.raises(ConnectionError):
            await endless(wire, b"x" * 1_000_000)


async def test_an_answer_before_the_body_has_arrived_is_the_last():
    async with listening(Application()) as server, server.connected() as wire:
        await wire.send(post(b"x" * 100_000, "/refuse")[:-1])
        response = await wire.response()
        assert (response.status, response.body, response.headers["connection"]) == (401, b"no", "close")
        assert await wire.rest() == b""


async def test_a_connection_goes_on_when_the_body_came_after_the_headers():
    async with listening(Application()) as server, server.connected() as wire:
        for _ in range(2):
            whole = post(b"hello")
            await wire.send(whole[:-5])
            await asyncio.sleep(0)
            await wire.send(whole[-5:])
            response = await wire.response()
            assert (response.body, response.headers.get("connection")) == (b"hello", None)


async def test_http_1_0_is_answered_and_closed():
    async with listening(Application()) as server, server.connected() as wire:
        await wire.send(b"POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi")
        assert (await wire.response()).body == b"hi"
        assert await wire.rest() == b""


async def test_a_client_that_expects_to_be_asked_for_the_body_is_asked():
    async with listening(Application()) as server, server.connected() as wire:
        await wire.send(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert (await wire.response()).status == 100
        await wire.send(b"hi")
        assert (await wire.response()).body == b"hi"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
        POST + b"Content-Length: -1\r\n\r\n",
        CHUNKED + b"nonsense\r\n",
        CHUNKED + b"ffffffffffffffffff\r\n",
        get("/", b"Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 5\r\n") + b"hello",
    ],
    ids=[
        "TLS", "HTTP/2", "two framings", "two lengths", "a huge length", "a negative length",
        "no chunk", "a huge chunk", "handshake with a body",
    ],
)  # fmt: skip
async def test_what_is_not_http_is_refused_in_words(sent: bytes):
    async with listening(Application()) as server, server.connected() as wire:
        await wire.send(sent)
        assert await wire.refused() == (400, "bad_request")


async def test_a_refusal_of_a_pipelined_request_does_not_cut_into_the_answer_before_it():
    application = Application()
    async with listening(application) as server, server.connected() as wire:
        await wire.send(get("/slow") + b"nonsense\r\n\r\n")
        application.let_go.set()
        assert (await wire.response()).status == 200
        assert await wire.refused() == (400, "bad_request")


# -- Odd framing ----------------------------------------------------------------------------------

HIDDEN = get("/hidden")
TWO_LENGTHS = b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN)
NOT_HTTP = {
    "a length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": POST + TWO_LENGTHS + HIDDEN,
    "the same length twice": POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx" + HIDDEN,
    "a list of lengths": POST + b"Content-Length: 0, %d\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a length with a plus": POST + b"Content-Length: +5\r\n\r\nhello" + HIDDEN,
    "a length in hexadecimal": POST + b"Content-Length: 0x5\r\n\r\nhello" + HIDDEN,
    "no length": POST + b"Content-Length: \r\n\r\n" + HIDDEN,
    "chunked, identity": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n" + HIDDEN,
    "xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunked twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a space before the colon": POST + b"Content-Length : 5\r\n\r\nhello" + HIDDEN,
    "a space in a name": POST + b"Transfer Encoding: chunked\r\n\r\n" + HIDDEN,
    "a folded line": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "bare line feeds": (POST + b"X: y\r\n\r\n").replace(b"\r\n", b"\n") + HIDDEN,
    "a bare line feed in a chunk": CHUNKED + b"1\nx\r\n0\r\n\r\n" + HIDDEN,
    "a bare carriage return": POST + b"X: a\rContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "NUL in a value": POST + b"X: a\0b\r\n\r\n" + HIDDEN,
    "NUL in a name": POST + b"X\0: a\r\n\r\n" + HIDDEN,
    "NUL in the address": b"GET /a\0b HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN,
    "NUL at first": b"\0" + HIDDEN,
    "a negative chunk": CHUNKED + b"-1\r\nx\r\n0\r\n\r\n" + HIDDEN,
    "a chunk that is longer than it says": CHUNKED + b"1\r\nxy\r\n0\r\n\r\n" + HIDDEN,
    "another version": b"GET /echo HTTP/3.7\r\n" + HOST + b"\r\n" + HIDDEN,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN,
    "HTTP/2 with frames": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0" + HIDDEN,
}


@pytest.mark.parametrize("name", NOT_HTTP)
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_request_that_is_hidden_by_odd_framing_is_never_answered(name: str, at_once: bool):
    application, sent = Application(), NOT_HTTP[name]
    async with listening(application) as server, server.connected() as wire, server.connected() as other:
        with contextlib.suppress(ConnectionError):  # it is refused before the last byte
            for piece in [sent] if at_once else [sent[each : each + 1] for each in range(len(sent))]:
                await wire.send(piece)
        assert await wire.refused() == (400, "bad_request")
        await other.send(get())
        assert (await other.response()).status == 200
    assert "/hidden" not in application.calls


OLD = {
    "chunked in HTTP/1.0": b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "no version": b"GET /echo\r\n\r\n" + HIDDEN,
    "another protocol": b"GET /echo RTSP/1.0\r\n" + HOST + b"\r\n" + HIDDEN,
}


@pytest.mark.parametrize("name", OLD)
async def test_of_a_protocol_that_keeps_no_connection_the_first_request_is_the_last(name: str):
    application = Application()
    async with listening(application) as server, server.connected() as wire:
        await wire.send(OLD[name])
        assert (await wire.rest()).count(b"HTTP/1.1 200") == 1
    assert application.calls == ["/echo"]


FRAMED: dict[str, tuple[bytes, bytes]] = {
    "within its length": (post(HIDDEN), HIDDEN),
    "within a chunk": (CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN), HIDDEN),
    "after a chunk's extension": (CHUNKED + b'1;a="b";c\r\nx\r\n0\r\n\r\n', b"x"),
    "in a trailer": (CHUNKED + b"1\r\nx\r\n0\r\nX-Trailer: GET /hidden HTTP/1.1\r\n\r\n", b"x"),
    "upper case": (POST + b"TRANSFER-ENCODING: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n", b"x"),
    "leading zeros": (CHUNKED + b"0001\r\nx\r\n000\r\n\r\n", b"x"),
    "an absolute address": (post(b"x").replace(b"/echo", b"http://elsewhere.example/echo"), b"x"),
}


@pytest.mark.parametrize("name", FRAMED)
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_request_within_a_body_is_a_body(name: str, at_once: bool):
    application = Application()
    sent, body = FRAMED[name]
    async with listening(application) as server, server.connected() as wire:
        for piece in [sent] if at_once else [sent[each : each + 1] for each in range(len(sent))]:
            await wire.send(piece)
        await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        echoed = await asyncio.wait_for(wire.reader.readexactly(len(body)), PATIENCE)
        await wire.send(get("/next"))
        assert (await wire.response()).status == 200
    assert echoed == body
    assert [path.rpartition("/")[2] for path in application.calls] == ["echo", "next"]


# -- Pipelining -------------------------------------------------------------------------------------


async def test_pipelined_requests_are_answered_in_order():
    async with listening(Application()) as server, server.connected() as wire:
        numbers = [str(number).encode() for number in range(50)]
        await wire.send(b"".join(map(post, numbers)))
        assert [(await wire.response()).body for _ in numbers] == numbers


async def test_pipelined_requests_wait_unread():
    """A thousand of them cost what their bytes cost."""
    application = Application()
    async with listening(application) as server, server.connected() as wire, server.connected() as other:
        await wire.send(get("/slow") + get("/next") * 1000)
        await other.send(get("/other"))
        await other.response()
        assert application.calls == ["/slow", "/other"]
        application.let_go.set()
        assert [(await wire.response()).status for _ in range(1001)] == [200] * 1001


@pytest.mark.parametrize(
    "reads",
    [[get("/slow")], [post(b"x", "/slow")], [post(b"xy", "/slow")[:-2], b"xy"], [post(b"xy", "/slow")[:-1], b"y"]],
    ids=["no body", "a body", "a body in its own read", "a body in two reads"],
)
async def test_what_follows_a_request_in_the_same_read_is_not_parsed_with_it(reads: list[bytes]):
    application, transport = Application(), Written()
    protocol = protocols(application, ServerState())()
    protocol.connection_made(transport)
    protocol.data_received(post(b"before"))
    await transport.until(1)
    for read in reads[:-1]:
        protocol.data_received(read)
    protocol.data_received(reads[-1] + b"nonsense\r\n\r\n")
    application.let_go.set()
    await transport.until(3)
    protocol.connection_lost(None)
    assert [each.split()[1] for each in transport.writes] == [b"200", b"200", b"400"]
    assert transport.writes[0].endswith(b"\r\n\r\nbefore"), "an answer leaves in one write"


async def test_a_flood_of_pipelined_requests_is_not_taken_in():
    application = Application()
    async with listening(application) as server, server.connected() as wire:
        await wire.send(get("/slow"))
        flood = asyncio.create_task(endless(wire, get("/next") * 2000))
        done, _ = await asyncio.wait({flood}, timeout=0.5)
        assert not done, "the client has to wait"
        flood.cancel()
    assert application.calls == ["/slow"]


async def endless(wire: Wire, piece: bytes) -> None:
    while True:
        await wire.send(piece)


async def test_a_request_after_a_chunked_one_waits_for_its_turn():
    async with listening(Application()) as server, server.connected() as wire:
        await wire.send(CHUNKED + b"1\r\na\r\n0\r\n\r\n" + post(b"bc") + CHUNKED + b"1\r\nd\r\n0\r\n\r\n" + get())
        answers = [await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), PATIENCE)]
        answers.append(await asyncio.wait_for(wire.reader.readexactly(1), PATIENCE))
        second = await wire.response()
        assert (answers[1], second.body) == (b"a", b"bc")
        assert (await wire.response()).body == b"d"
        assert (await wire.response()).status == 200
