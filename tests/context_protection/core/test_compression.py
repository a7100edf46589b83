import random
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from context_protection.core.compression import LARGE_BLOCK, NotCompressed, compress, decompress, zstd

BLOCK = b'[{"id":1,"guest":"Ada"},' + b'{"id":2,"guest":"Grace"},' * 200 + b"{}]"


@pytest.mark.parametrize("block", [b"", b"[]", BLOCK])
def test_a_block_is_restored(block: bytes):
    assert decompress(compress(block)) == block


def test_a_compressed_block_is_small():
    assert len(compress(BLOCK)) < len(BLOCK) / 20


def test_equal_blocks_are_equal_when_compressed_whatever_was_compressed_before():
    chance = random.Random(5)
    blocks = [BLOCK[: chance.randrange(len(BLOCK))] + chance.randbytes(chance.randrange(3000)) for _ in range(200)]
    alone = [zstd.compress(block, 1) for block in blocks]
    shuffled = chance.sample(range(len(blocks)), len(blocks))
    large = chance.randbytes(1000) * (LARGE_BLOCK // 1000)
    blocks += [large[:LARGE_BLOCK], large + BLOCK]
    alone += [zstd.compress(block, 1) for block in blocks[-2:]]
    shuffled += [len(blocks) - 1, len(blocks) - 2]
    with ThreadPoolExecutor(4) as threads:
        found = dict(zip(shuffled, threads.map(lambda at: compress(blocks[at]), shuffled), strict=True))
    assert [found[at] for at in range(len(blocks))] == alone


def test_a_block_of_an_earlier_version_is_restored():
    for level in (1, 6, 9):
        assert decompress(zlib.compress(BLOCK, level)) == BLOCK


@pytest.mark.parametrize("data", [b"", b"[1, 2]", compress(BLOCK)[:-1], zlib.compress(BLOCK)[:-1], b"\x78\x01"])
def test_other_data_is_rejected(data: bytes):
    with pytest.raises(NotCompressed):
        decompress(data)
