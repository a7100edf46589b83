"""Compresses the blocks of snapshots, with zstd: it takes half the time of zlib's fastest level, for smaller blocks."""

import sys
import zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LEVEL = 1
# Shared by all threads: each call compresses a whole block under the compressor's own lock. To make a new compressor
# takes as long as to compress a small block.
_compressor = zstd.ZstdCompressor(_LEVEL)
# A larger block gets a compressor of its own: other threads would wait for the shared one.
LARGE_BLOCK = 256 * 1024  # bytes
_OF_ZLIB = b"\x78"  # the first byte of blocks that earlier versions stored, compressed with zlib


class NotCompressed(ValueError):
    """The data is not a compressed block."""


def compress(block: bytes) -> bytes:
    """Equal for equal blocks in all processes with the same version of zstd."""
    if len(block) > LARGE_BLOCK:
        return zstd.compress(block, _LEVEL)
    return _compressor.compress(block, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress(data: bytes) -> bytes:
    """Raises NotCompressed."""
    try:
        return zlib.decompress(data) if data[:1] == _OF_ZLIB else zstd.decompress(data)
    except (zlib.error, zstd.ZstdError) as error:
        raise NotCompressed(str(error)) from None
