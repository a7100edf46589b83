"""Deletes the stored snapshots of a caller, or those that mention somebody, from the table and from Redis."""

from collections.abc import Callable, Iterable, Iterator
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
    """The snapshots to delete: those whose caller's id, up to a slash, is `caller` ("key:7"), or those for whose
    arguments, rows or content `is_mention` is true. `reach`: the most bytes of a mention."""

    caller: str = ""
    is_mention: Callable[[str], bool] | None = None
    reach: int = 0

    def matches(self, entry: "OpenedEntry") -> bool:
        if self.caller and entry.caller is not None:
            return entry.caller.partition("/")[0] == self.caller
        return self.is_in(entry.content)

    def is_in(self, content: bytes) -> bool:
        return self.is_mention is not None and self.is_mention(content.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class OpenedEntry:
    """A stored entry. `caller`: None if the entry does not say it. `block`: its number; None for an origin. `content`:
    readable."""

    content: bytes
    caller: str | None = None
    block: int | None = None

    @classmethod
    def of(cls, key: str, data: bytes) -> "OpenedEntry":
        _, _, part = key.partition(".")
        if part == ORIGIN:
            return cls(data, SnapshotOrigin.unpack(data).caller)
        if part:
            return cls(_unpacked(data), block=int(part))
        snapshot = Snapshot.unpack(data)
        return cls(data + _unpacked(snapshot.first_block), snapshot.caller, block=0)


def _unpacked(block: bytes) -> bytes:
    try:
        return decompress(block)
    except NotCompressed:
        return block


def _snapshot_of(key: str) -> str:
    """The snapshot's name; its other entries have it before a dot."""
    return key.partition(".")[0]


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
    """The names of the snapshots that have a matching entry, or a mention in the end of a block and the beginning of
    the next."""
    found: set[str] = set()
    edges: dict[tuple[str, int], bytes] = {}  # a snapshot's name, the number of a border → the bytes on one side of it
    for key, data in entries:
        name = _snapshot_of(key)
        if name in found:
            continue
        entry = OpenedEntry.of(key, data)
        if wanted.matches(entry) or (wanted.reach and _is_across(wanted, name, entry, edges)):
            found.add(name)
    return found


def _is_across(wanted: Wanted, name: str, entry: OpenedEntry, edges: dict[tuple[str, int], bytes]) -> bool:
    """Whether a mention crosses a border between this block and one that was read before. Keeps the bytes at borders of
    which only one side has been read."""
    if entry.block is None:
        return False
    before, after = edges.pop((name, entry.block), None), edges.pop((name, entry.block + 1), None)
    first, last = entry.content[: wanted.reach], entry.content[-wanted.reach :]
    if before is None:
        edges[name, entry.block] = first
    if after is None:
        edges[name, entry.block + 1] = last
    return wanted.is_in((before or b"") + first) or wanted.is_in(last + (after or b""))


def _in_table() -> Iterator[tuple[str, bytes]]:
    rows = StoredWalk.objects.exclude(id=ROOM_KEY).order_by("id").values_list("id", "data")
    return ((key, bytes(data)) for key, data in rows.iterator(chunk_size=BATCH))


def _forget_in_redis(wanted: Wanted) -> set[str]:
    client = connect(settings.REDIS_URL)
    found = _found(wanted, _in_redis(client))
    if found:
        for keys in _batches(key for key in _redis_keys(client) if _snapshot_of(key) in found):
            client.delete(*(PREFIX + key for key in keys))
    return found


def _in_redis(client: redis.Redis) -> Iterator[tuple[str, bytes]]:
    for keys in _batches(_redis_keys(client)):
        values: Any = client.mget([PREFIX + key for key in keys])
        for key, data in zip(keys, values, strict=True):
            if data is not None:  # it may have expired since
                yield key, data


def _redis_keys(client: redis.Redis) -> Iterator[str]:
    return (key.decode().removeprefix(PREFIX) for key in client.scan_iter(f"{PREFIX}*", count=1000))
