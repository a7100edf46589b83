"""The server side of Redis's protocol (RESP 2). Requests are arrays of byte strings."""

import asyncio
from collections.abc import Sequence
from typing import Any

LARGEST = 8 * 2**20  # bytes of one argument


class NotRedis(Exception):
    """The bytes are not a request of this protocol."""


async def read_request(reader: asyncio.StreamReader) -> list[bytes] | None:
    """The command's name and its arguments; None at the end of the stream. Raises NotRedis."""
    try:
        count = _size(await reader.readuntil(b"\r\n"), b"*")
        return [await _argument(reader) for _ in range(count)]
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise NotRedis from None


async def _argument(reader: asyncio.StreamReader) -> bytes:
    size = _size(await reader.readuntil(b"\r\n"), b"$")
    return (await reader.readexactly(size + 2))[:-2]


def _size(line: bytes, kind: bytes) -> int:
    if line[:1] != kind or not line[1:-2].isdigit() or int(line[1:-2]) > LARGEST:
        raise NotRedis
    return int(line[1:-2])


def reply(value: Any) -> bytes:
    """Encodes None, numbers, texts (as a status), bytes, sequences of these, and exceptions."""
    match value:
        case None:
            return b"$-1\r\n"
        case bool() | int():
            return b":%d\r\n" % value
        case str():
            return b"+%b\r\n" % value.encode()
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(value), value)
        case Exception():
            return b"-ERR %b\r\n" % str(value).encode()
        case Sequence():
            return b"*%d\r\n%b" % (len(value), b"".join(map(reply, value)))
    raise TypeError(f"{type(value).__name__} has no form in this protocol")
