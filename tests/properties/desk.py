"""protect() alone, as a door that serves one payload: what the laws are tested on without a server."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import ctok.engine
import ctok.main

from context_protection.core import tokens
from context_protection.core.cursors import Sealer, Snapshot, SnapshotOrigin, Snapshots
from context_protection.core.payloads import AnswerRequest, Envelope, Payload, Piece, Record
from context_protection.core.policy import Policy
from context_protection.core.protect import needs_no_fetch, protect
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import ANY, Shape
from context_protection.core.splitting.chunks import ChunkPlan
from context_protection.core.splitting.planner import WINDOW, plan_windows
from context_protection.core.splitting.plans import ChunkSizes, IndexingProgress

FORM = {"limit", "fields", "format"}


class DictSnapshots:
    """Walks in this process alone."""

    defers_writes = False

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        self.kept[snapshot.id] = snapshot.pack()
        self.kept[f"{snapshot.id}.origin"] = snapshot.origin.pack()
        for number, data in enumerate(blocks, start=1):
            self.kept[f"{snapshot.id}.{number}"] = data
        return snapshot

    def get(self, snapshot_id: str) -> Snapshot | None:
        data = self.kept.get(snapshot_id)
        return Snapshot.unpack(data) if data is not None else None

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self.get(snapshot_id)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        data = self.kept.get(f"{snapshot_id}.origin")
        return SnapshotOrigin.unpack(data) if data is not None else None

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        return self.kept.setdefault(f"{snapshot.id}.{number}", data)

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        return [self.kept.get(f"{snapshot.id}.{number}") for number in numbers]

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        return None not in self.blocks(snapshot, range(1, count + 1))


class MemoryPlan:
    """A kept plan in blocks of a few chunks."""

    def __init__(self, blocks: list[ChunkPlan]) -> None:
        self.blocks = blocks
        self.firsts = [0, *accumulate(block.chunks for block in blocks)]

    @property
    def chunks(self) -> int:
        return self.firsts[-1]

    def block_of(self, chunk: int) -> tuple[int, ChunkPlan]:
        number = bisect_right(self.firsts, chunk) - 1
        return self.firsts[number], self.blocks[number]

    def block_at(self, char: int) -> tuple[int, ChunkPlan]:
        number = bisect_right([block.cuts[0] for block in self.blocks], char) - 1
        return self.firsts[number], self.blocks[number]


@dataclass
class MemoryText:
    """`window`: characters of a window of its kept plans; `unfinished`: how far they are, instead of there."""

    content: str
    name: str = "a.txt"
    media_type: str = "text/plain"
    encoding: str = "utf-8"
    facts: Mapping[str, Any] | None = None
    window: int = WINDOW
    unfinished: IndexingProgress | None = None
    plans: dict[ChunkSizes, MemoryPlan] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    @property
    def chars(self) -> int:
        return len(self.content)

    @property
    def lines(self) -> int:
        return self.content.count("\n") + (not self.content.endswith("\n"))

    def at(self, version: str) -> "MemoryText | None":
        return self if version == self.version else None

    def read(self, version: str, start: int, end: int) -> str | None:
        return self.content[start:end] if version == self.version else None

    def line_start(self, version: str, line: int) -> int:
        return min(sum(len(each) + 1 for each in self.content.split("\n")[: line - 1]), len(self.content))

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        start = self.line_start(version, first_line)
        yield Piece(first_line, start, self.content[start:])

    def plan(self, version: str, chunk_sizes: ChunkSizes) -> MemoryPlan | IndexingProgress:
        if self.unfinished is not None:
            return self.unfinished
        if chunk_sizes not in self.plans:
            windows = plan_windows([self.content], chunk_sizes.form, chunk_sizes.limits, self.lines, window=self.window)
            self.plans[chunk_sizes] = MemoryPlan(list(windows))
        return self.plans[chunk_sizes]


@dataclass
class Desk:
    """`list` answers with `rows`, `get` with the row of that id, `read` with `text`; every body is kept."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    text: MemoryText | None = None
    policy: Policy = field(default_factory=Policy)
    shape: Shape = ANY
    result_operation: str | None = None
    snapshots: Snapshots = field(default_factory=lambda: Snapshots(DictSnapshots(), Sealer(["x" * 40])))
    envelopes: list[Envelope] = field(default_factory=list)

    def __call__(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        envelope = protect(*self._asked(operation, arguments), self.policy, self.snapshots)
        self.envelopes.append(envelope)
        document: dict[str, Any] = json.loads(envelope.body)
        return document

    def _asked(self, operation: str, arguments: Mapping[str, Any]) -> tuple[Payload | None, AnswerRequest]:
        own = {name: value for name, value in arguments.items() if name not in FORM | {"cursor"}}
        snapshot, position = None, None
        if "cursor" in arguments:
            snapshot, position = self.snapshots.resume(arguments["cursor"], operation, "me", own)
        request = AnswerRequest(
            operation=operation,
            caller="me",
            hints=lambda name, more: {"tool": name, "arguments": dict(more)},
            arguments=own,
            snapshot=snapshot,
            position=position,
            record_operation="get" if operation == "list" else None,
            record_arguments={"fields": "all"},
            search=own.get("search"),
            result_operation=self.result_operation,
            **{name: arguments.get(name) for name in FORM},
        )
        return None if needs_no_fetch(snapshot) else self._payload(operation, own), request

    def _payload(self, operation: str, arguments: Mapping[str, Any]) -> Payload:
        if operation == "list":
            return MemoryRows(self.rows, self.shape)
        if operation == "get":
            return Record(next(row for row in self.rows if row.get("id") == arguments["id"]), self.shape)
        assert self.text is not None
        return self.text

    def assert_never_over_the_cap(self) -> None:
        for envelope in self.envelopes:
            assert real_tokens(envelope.body.decode(), self.policy.hard_cap) <= self.policy.hard_cap


def real_tokens(text: str, cap: int) -> int:
    """As Claude counts: exactly, where the answer could depend on it. The quick count is within three percent, as
    tests/context_protection/core/test_tokens.py says."""
    quick = tokens.claude.count(text)
    return quick if quick < cap * 0.96 else exact_tokens(text)


def exact_tokens(text: str) -> int:
    """`ctok.token_count` without a list of what it counted, which takes it a quarter longer."""
    model = ctok.main._model("v4.8")
    return int(ctok.engine.tile(text, model)[0]) + int(model.message_overhead)
