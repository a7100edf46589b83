"""The format of documents between the processes of one parent: a length of four bytes, then MessagePack."""

import asyncio
import socket
from typing import Any

import msgpack

LONGEST = 256 * 2**20  # bytes: the metrics of a very large installation have 50 MB


def packed(document: Any) -> bytes:
    body: bytes = msgpack.packb(document)
    return len(body).to_bytes(4, "big") + body


async def read(reader: asyncio.StreamReader) -> Any:
    """The next document. Raises IncompleteReadError at the end of the stream, ConnectionError for a document that is
    too long."""
    size = _checked(int.from_bytes(await reader.readexactly(4), "big"))
    return msgpack.unpackb(await reader.readexactly(size), strict_map_key=False)


def read_from(connection: socket.socket) -> Any:
    """The next document. Blocks; each read waits at most for the connection's timeout. Raises OSError."""
    size = _checked(int.from_bytes(_exactly(connection, 4), "big"))
    return msgpack.unpackb(_exactly(connection, size), strict_map_key=False)


def _exactly(connection: socket.socket, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = connection.recv(min(size, 2**20))
        if not piece:
            raise ConnectionError("the other process has closed the connection")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _checked(size: int) -> int:
    if size > LONGEST:
        raise ConnectionError(f"a document of {size} bytes")
    return size
