"""The entries that store a snapshot: the snapshot itself, its further blocks and its origin."""

from collections.abc import Sequence

from context_protection.core.cursors import ORIGIN_LIFETIME, Snapshot

ORIGIN = "origin"  # the part of a snapshot's key under which its origin is stored
Entry = tuple[str, bytes, float]  # key, value, expiry in Unix seconds


def entries(snapshot: Snapshot, blocks: Sequence[bytes]) -> list[Entry]:
    """The entries that store a snapshot. The snapshot itself comes last: if it exists, all other entries do."""
    stored = [
        (block_key(snapshot.id, number), data, snapshot.expires_at) for number, data in enumerate(blocks, start=1)
    ]
    origin = (origin_key(snapshot.id), snapshot.origin.pack(), snapshot.expires_at + ORIGIN_LIFETIME)
    return [*stored, origin, (snapshot.id, snapshot.pack(), snapshot.expires_at)]


def origin_key(snapshot_id: str) -> str:
    return f"{snapshot_id}.{ORIGIN}"


def block_key(snapshot_id: str, number: int) -> str:
    return f"{snapshot_id}.{number}"


def block_keys(snapshot: Snapshot, numbers: Sequence[int]) -> list[str]:
    return [block_key(snapshot.id, number) for number in numbers]
