"""Bodies are read as long as they may be, counted as they come out of their packing."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstreams import bodies
from gateway.upstreams.bodies import TooLong, Undecodable

MB = 2**20


async def chunks(data: bytes, size: int = 65536) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.binary(max_size=5000), st.integers(1, 700), st.sampled_from(["", "identity", "gzip", "GZIP", "deflate"]))
def test_what_was_packed_comes_out_whole_however_it_is_cut(data: bytes, size: int, encoding: str):
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding.lower(), bytes)(data)
    assert asyncio.run(bodies.read(chunks(packed, size), encoding, 5000)) == data


@pytest.mark.parametrize("length", [bodies.STEP - 1, bodies.STEP, bodies.STEP + 1, 3 * bodies.STEP])
async def test_what_unpacks_to_much_comes_out_whole(length: int):
    data = bytes(length)
    assert await bodies.read(chunks(gzip.compress(data)), "gzip", MB) == data


async def test_deflate_without_a_header_is_read_too():
    packed = zlib.compress(b"words " * 1000)[2:-4]
    assert await bodies.read(chunks(packed), "deflate", MB) == b"words " * 1000


async def test_its_last_byte_may_stand_for_much():
    """There is no trailer that would be left while something is still to come out."""
    for length in range(bodies.STEP, bodies.STEP + 300):
        packed = zlib.compress(bytes(length))[2:-4]
        assert len(await bodies.read(chunks(packed), "deflate", MB)) == length


async def test_all_members_of_gzip_are_read_and_padding_is_not():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + bytes(20)
    assert await bodies.read(chunks(packed, 7), "gzip", MB) == b"one two"


async def test_as_much_as_may_be_is_read_and_not_a_byte_more():
    assert len(await bodies.read(chunks(bytes(1000)), "", 1000)) == 1000
    with pytest.raises(TooLong):
        await bodies.read(chunks(bytes(1001)), "", 1000)


async def test_a_bomb_is_left_before_it_goes_off():
    packed = gzip.compress(bytes(100 * MB))
    tracemalloc.start()
    try:
        with pytest.raises(TooLong):
            await bodies.read(chunks(packed), "gzip", MB)
        assert tracemalloc.get_traced_memory()[1] < 4 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "packed", [b"no gzip at all", gzip.compress(bytes(5000))[:-8] + b"12345678"], ids=["no gzip", "another sum"]
)
async def test_damaged_packing_is_said_so(packed: bytes):
    with pytest.raises(Undecodable, match="damaged"):
        await bodies.read(chunks(packed), "gzip", MB)


async def test_packing_that_is_cut_off_is_said_so():
    with pytest.raises(Undecodable, match="cut off"):
        await bodies.read(chunks(gzip.compress(b"words " * 5000)[:-12]), "gzip", MB)


async def test_packing_that_ends_before_anything_comes_out_is_cut_off():
    with pytest.raises(Undecodable, match="cut off"):
        await bodies.read(chunks(gzip.compress(b"words")[:10]), "gzip", MB)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
async def test_a_packing_that_was_not_asked_for_is_not_guessed_at(encoding: str):
    with pytest.raises(Undecodable, match="not asked for"):
        await bodies.read(chunks(b"xx"), encoding, MB)


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
    await bodies.read(chunks(data, size), "gzip", 20 * MB)
    task.cancel()
    assert turns > 20
