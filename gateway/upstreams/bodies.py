"""Reads a response body under a size limit. The limit counts decompressed bytes, because a small body may expand
without end."""

import asyncio
import zlib
from collections.abc import AsyncIterable, Iterator

STEP = 256 * 1024  # bytes read before other tasks of the loop run
PIECE_COST = 2048  # bytes added per piece, because even a tiny piece takes time
ACCEPTED = "gzip, deflate"
GZIP_MAGIC = b"\x1f"
ANY_HEADER = zlib.MAX_WBITS | 32  # of gzip or zlib
NO_HEADER = -zlib.MAX_WBITS


class TooLong(Exception):
    """The body is longer than the limit."""


class Undecodable(Exception):
    """The body is not in its declared content encoding; the message says what is wrong."""


async def read(chunks: AsyncIterable[bytes], encoding: str, most: int) -> bytes:
    """The decoded body, at most `most` bytes. Raises TooLong, Undecodable."""
    unpacking = _unpacking(encoding)
    body = bytearray()
    turn = 0
    async for chunk in chunks:
        for piece in unpacking.steps(chunk) if unpacking else (chunk,):
            if len(body) + len(piece) > most:
                raise TooLong
            body += piece
            turn += len(piece) + PIECE_COST
            if turn > STEP:
                turn = 0
                await asyncio.sleep(0)
    if unpacking:
        unpacking.check_end()
    return bytes(body)


def _unpacking(encoding: str) -> "_Unpacking | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Unpacking()
        case _:
            raise Undecodable("a content encoding that was not asked for")


class _Unpacking:
    """gzip of one or several members, zlib, or deflate without a header, which some servers send."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(ANY_HEADER)
        self._begun = False

    def steps(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._inflate.eof:
                if not data.startswith(GZIP_MAGIC):
                    return  # the end, or padding
                self._inflate = zlib.decompressobj(ANY_HEADER)
            piece = self._piece(data)
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if not data and len(piece) < STEP:
                return

    def _piece(self, data: bytes) -> bytes:
        begun, self._begun = self._begun, True
        try:
            return self._inflate.decompress(data, STEP)
        except zlib.error:
            if begun:
                raise Undecodable("its compression is damaged") from None
        try:
            self._inflate = zlib.decompressobj(NO_HEADER)
            return self._inflate.decompress(data, STEP)
        except zlib.error:
            raise Undecodable("its compression is damaged") from None

    def check_end(self) -> None:
        if self._begun and not self._inflate.eof:
            raise Undecodable("it is cut off")
