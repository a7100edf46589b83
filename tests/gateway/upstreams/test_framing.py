"""Where an answer ends, and what is no answer: messages that servers send although HTTP does not have them, or that it
has although few servers send them."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.request import Request

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
TWO = b"Content-Length: 2\r\n\r\nhi"

READ = {
    "with a length": OK + TWO,
    "of an older version": b"HTTP/1.0 200 OK\r\n" + TWO,
    "without words for its status": b"HTTP/1.1 200\r\n" + TWO,
    "byte by byte": [bytes([each]) for each in OK + TWO],
    "after hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK + TWO,
    "in chunks": CHUNKED + b"1\r\nh\r\n1;a=b\r\ni\r\n0\r\nX-Trailer: 1\r\n\r\n",
    "until the connection ends": [OK + b"\r\nhi", "end"],
    "of an older version, until the connection ends": [b"HTTP/1.0 200 OK\r\n\r\nhi", "end"],
    "with a long header": OK + b"X-Long: " + b"x" * 60_000 + b"\r\n" + TWO,
    "with many headers": OK + b"X-Many: x\r\n" * 200 + TWO,
    "with letters that are not ASCII": OK + b"X-Name: \xe4\xff\r\n" + TWO,
    "with another one behind it": OK + TWO + b"HTTP/1.1 500 Evil\r\n" + TWO,
}

GARBLED = {
    "the head is cut off": [OK + b"X-A: ", "end"],
    "the status is cut off": [b"HTTP/1.1 20", "end"],
    "the body is cut off": [OK + b"Content-Length: 50\r\n\r\nhi", "end"],
    "the chunks are cut off": [CHUNKED + b"2\r\nhi\r\n", "end"],
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\nhi",
    "a length and chunks": CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "a length below nothing": OK + b"Content-Length: -2\r\n\r\nhi",
    "a length in words": OK + b"Content-Length: two\r\n\r\nhi",
    "a length that no number holds": OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nhi",
    "a chunk below nothing": CHUNKED + b"-2\r\nhi\r\n0\r\n\r\n",
    "a chunk that no number holds": CHUNKED + b"f" * 20 + b"\r\nhi\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"1\r\nhi\r\n0\r\n\r\n",
    "an unknown transfer coding": [OK + b"Transfer-Encoding: gzip\r\n\r\nhi", "end"],
    "a transfer coding that was not asked for": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi",
    "hints without end": b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    "a header without end": OK + b"X-Long: " + b"x" * 2**20,
    "headers without end": OK + b"X-Many: x\r\n" * 100_000,
    "a header without a name": OK + b": x\r\n" + TWO,
    "a name with a space": OK + b"X A: x\r\n" + TWO,
    "a header with a null": OK + b"X-A: a\0b\r\n" + TWO,
    "version 2": b"HTTP/2 200 OK\r\n" + TWO,
    "TLS": b"\x16\x03\x01\x00\x01x",
}

UNREACHABLE = {
    "closed without an answer": ["end"],
    "reset without an answer": ["reset"],
    "the body ends with a broken connection": [OK + b"\r\nhi", "came", "reset"],
    "the connection breaks in the body": [OK + b"Content-Length: 50\r\n\r\nhi", "came", "reset"],
    "the connection breaks in the chunks": [CHUNKED + b"2\r\nhi\r\n", "came", "reset"],
}

Message = bytes | list[Any]


TURNS = 100  # of the loop that both sides share, until what was sent has been read


def spoken(message: Message) -> Any:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for part in [message] if isinstance(message, bytes) else message:
                if part == "came":
                    for _ in range(TURNS):
                        await asyncio.sleep(0)
                elif isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
            if isinstance(message, list) and message[-1] == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            elif isinstance(message, bytes):
                await reader.read()
        except ConnectionError:
            """The answer was given up."""
        finally:
            writer.close()

    return speak


@asynccontextmanager
async def answered_with(message: Message) -> AsyncIterator[str]:
    async with await asyncio.start_server(spoken(message), "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def fetched(url: str) -> bytes:
    limits = CallLimits(attempts=1, total_seconds=20)
    return (await Upstream("Acme", trusted=frozenset({url}), limits=limits).fetch(Request("GET", url))).body


@pytest.mark.parametrize("message", READ.values(), ids=READ.keys())
async def test_an_answer_is_read(message: Message):
    async with answered_with(message) as url:
        assert await fetched(url) == b"hi"


@pytest.mark.parametrize("message", GARBLED.values(), ids=GARBLED.keys())
async def test_what_is_no_answer_is_garbled(message: Message):
    async with answered_with(message) as url:
        with pytest.raises(UpstreamError) as failure:
            await fetched(url)
    assert failure.value.reason == "upstream_garbled"


@pytest.mark.parametrize("message", UNREACHABLE.values(), ids=UNREACHABLE.keys())
async def test_a_broken_connection_is_said_so(message: Message):
    async with answered_with(message) as url:
        with pytest.raises(UpstreamError) as failure:
            await fetched(url)
    assert failure.value.reason == "upstream_unreachable"
