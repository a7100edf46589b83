"""Memory for bodies: bounded each, and all of them together."""

from typing import Any

import pytest
from django.urls import reverse

from gateway.process import bodies
from gateway.process.bodies import LARGEST_BODY, SMALL_BODY, BodyMemory, ClientGone, MemoryShare, read_body
from gateway.process.errors import BodyTooLarge, Busy


def arriving(*pieces: bytes, gone: bool = False) -> Any:
    """A `receive` that gives a body in these pieces."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.disconnect"} if gone else {"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        return messages.pop(0)

    return receive


async def test_a_body_is_read_whole():
    pieces: list[bytes] = []
    with MemoryShare(BodyMemory(0)) as share:
        await read_body(arriving(b"a", b"", b"bc"), pieces.append, share)
    assert b"".join(pieces) == b"abc"


async def test_a_body_over_the_limit_is_refused_as_soon_as_it_is():
    pieces: list[bytes] = []
    with MemoryShare(BodyMemory(100)) as share, pytest.raises(BodyTooLarge):
        await read_body(arriving(b"a" * 3, b"b" * 3, b"c"), pieces.append, share, most=5)
    assert pieces == [b"aaa"]


async def test_a_client_that_leaves_is_noticed():
    with MemoryShare(BodyMemory(100)) as share, pytest.raises(ClientGone):
        await read_body(arriving(b"a", gone=True), bytearray().extend, share)


async def test_large_bodies_share_a_room_and_small_ones_always_fit():
    large, small = b"x" * (SMALL_BODY + 1), b"x" * SMALL_BODY
    room = BodyMemory(len(large))
    with MemoryShare(room) as first, MemoryShare(room) as second, MemoryShare(room) as third:
        await read_body(arriving(large), bytearray().extend, first)
        await read_body(arriving(small), bytearray().extend, second)
        with pytest.raises(Busy) as refused:
            await read_body(arriving(large), bytearray().extend, third)
        assert refused.value.retry_after
        assert room.taken == len(large)
    assert room.taken == 0
    with MemoryShare(room) as fourth:
        await read_body(arriving(large), bytearray().extend, fourth)


async def test_what_goes_to_disk_takes_no_more_memory_than_the_largest_body():
    room = BodyMemory(LARGEST_BODY)
    pieces = [b"x" * 2**20] * 8
    with MemoryShare(room) as share:
        await read_body(arriving(*pieces), bytearray().extend, share, most=16 * 2**20)
        assert room.taken == LARGEST_BODY


def test_an_import_may_be_larger():
    assert {reverse("admin:openapi_import"): 41 * 2**20} == bodies.LARGE_BODIES
