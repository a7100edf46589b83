"""Deletes the stored snapshots of a caller, or those that mention a text, from the table and from Redis."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import redis
from django.conf import settings

from context_protection.core.compression import NotCompressed, decompress
from context_protection.core.cursors import Snapshot, SnapshotOrigin
from context_protection.models import StoredWalk
from context_protection.stores.entries import ORIGIN
from context_protection.stores.redis_client import connect
from context_protection.stores.redis_snapshots import PREFIX
from context_protection.stores.table_snapshots import ROOM_KEY

BATCH = 200  # entries in one query


@dataclass(frozen=True, slots=True)
class Wanted:
    """The snapshots to delete: those whose caller's id, up to a slash, is `caller` ("key:7"), or those with `text`, in
    any case, in their arguments, rows or content."""

    caller: str = ""
    text: str = ""

    def matches(self, key: str, data: bytes) -> bool:
        caller, content = _opened(key, data)
        if self.caller and caller is not None:
            return caller.partition("/")[0] == self.caller
        return bool(self.text) and self.text.casefold() in content.decode("utf-8", "replace").casefold()


def _opened(key: str, data: bytes) -> tuple[str | None, bytes]:
    """The caller, if the entry has one, and the entry's readable content."""
    _, _, part = key.partition(".")
    if part == ORIGIN:
        return SnapshotOrigin.unpack(data).caller, data
    if part:
        return None, _unpacked(data)
    snapshot = Snapshot.unpack(data)
    return snapshot.caller, data + _unpacked(snapshot.first_block)


def _unpacked(block: bytes) -> bytes:
    try:
        return decompress(block)
    except NotCompressed:
        return block


def _batches(keys: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(keys)
    while batch := list(islice(rest, BATCH)):
        yield batch


def forget(wanted: Wanted) -> int:
    """Returns how many snapshots were deleted. Raises redis.RedisError if Redis cannot be reached."""
    found = _found(wanted, _in_table())
    for name in found:
        StoredWalk.objects.filter(id__startswith=name).delete()
    return len(found | (_forget_in_redis(wanted) if settings.REDIS_URL else set()))


def _found(wanted: Wanted, entries: Iterable[tuple[str, bytes]]) -> set[str]:
    """The names of the snapshots that have a matching entry."""
    return {key.partition(".")[0] for key, data in entries if wanted.matches(key, data)}


def _in_table() -> Iterator[tuple[str, bytes]]:
    rows = StoredWalk.objects.exclude(id=ROOM_KEY).values_list("id", "data")
    return ((key, bytes(data)) for key, data in rows.iterator(chunk_size=BATCH))


def _forget_in_redis(wanted: Wanted) -> set[str]:
    client = connect(settings.REDIS_URL)
    found = _found(wanted, _in_redis(client))
    for name in found:
        if keys := list(client.scan_iter(f"{PREFIX}{name}*", count=1000)):
            client.delete(*keys)
    return found


def _in_redis(client: redis.Redis) -> Iterator[tuple[str, bytes]]:
    for keys in _batches(client.scan_iter(f"{PREFIX}*", count=1000)):
        values: Any = client.mget(keys)
        for key, data in zip(keys, values, strict=True):
            if data is not None:  # it may have expired since
                yield key.decode().removeprefix(PREFIX), data
