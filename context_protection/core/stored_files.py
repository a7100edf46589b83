"""Files in snapshots: bytes that a client reads as a resource, such as a picture that is too large for an answer."""

from dataclasses import dataclass

from context_protection.core.cursors import NewSnapshot, Snapshot, SnapshotOrigin, Snapshots

BLOCK = 1 << 20  # bytes of a file in one block of its snapshot


@dataclass(frozen=True, slots=True)
class StoredFile:
    media_type: str
    data: bytes

    def store(self, origin: SnapshotOrigin, snapshots: Snapshots) -> Snapshot:
        """Stores the file for as long as a result is stored. The snapshot's id is the file's handle; if the store is
        unavailable, `is_stored` is False."""
        blocks = [self.data[start : start + BLOCK] for start in range(0, len(self.data), BLOCK)]
        return snapshots.begin(NewSnapshot(origin, {"file": self.media_type}, blocks or [b""]))


def is_file(snapshot: Snapshot) -> bool:
    return "file" in snapshot.plan


def file_of(snapshot: Snapshot, snapshots: Snapshots) -> StoredFile:
    """Raises InvalidCursor if a block is gone."""
    blocks = snapshots.blocks(snapshot, range(snapshot.plan["blocks"]))
    return StoredFile(snapshot.plan["file"], b"".join(blocks))
