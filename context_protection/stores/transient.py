"""A store of snapshots for answers that are not sent, such as previews for staff: nothing is stored for later."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from context_protection.core.cursors import Snapshot, SnapshotOrigin


@dataclass(frozen=True)
class TransientSnapshots:
    """A SnapshotStore in memory, for as long as the object lives. It never fails, and nothing expires in it."""

    defers_writes: ClassVar[bool] = False

    _snapshots: dict[str, Snapshot] = field(default_factory=dict)
    _blocks: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        self._snapshots[snapshot.id] = snapshot
        self._blocks.update({(snapshot.id, number): data for number, data in enumerate(blocks, start=1)})
        return snapshot

    def get(self, snapshot_id: str) -> Snapshot | None:
        return self._snapshots.get(snapshot_id)

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self.get(snapshot_id)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        snapshot = self.get(snapshot_id)
        return None if snapshot is None else snapshot.origin

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        return self._blocks.setdefault((snapshot.id, number), data)

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        return [self._blocks.get((snapshot.id, number)) for number in numbers]

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        return all((snapshot.id, number) in self._blocks for number in range(1, count + 1))
