"""The envelope of a chunk: its body, its cursor and its metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from context_protection.core.budget import Body, render
from context_protection.core.cursors import NewSnapshot, Snapshot, SnapshotOrigin, Snapshots
from context_protection.core.masks import withheld_in_text
from context_protection.core.memory_text import MemoryText, SnapshotText
from context_protection.core.payloads import AnswerRequest, Envelope, Outcome, Text, with_loss_note
from context_protection.core.policy import Policy
from context_protection.core.splitting.chunks import Chunk
from context_protection.core.text_traits import TextTraits


class ChunkScope(Protocol):
    """The part of a text that a plan covers. `lines` and `chunks`: how many precede it."""

    @property
    def traits(self) -> TextTraits: ...
    @property
    def lines(self) -> int: ...
    @property
    def chunks(self) -> int: ...


def new_snapshot(
    text: Text, origin: SnapshotOrigin, plan: Mapping[str, Any], blocks: Sequence[bytes], snapshots: Snapshots
) -> Snapshot:
    """Begins a snapshot. It also stores the text itself if nothing else does (`MemoryText`, `SnapshotText`)."""
    if not isinstance(text, (MemoryText, SnapshotText)):
        return snapshots.begin(NewSnapshot(origin, plan, blocks))
    description = text.description(len(blocks))
    return snapshots.begin(NewSnapshot(origin, {**plan, "text": description}, [*blocks, *text.blocks()]))


def cursor(snapshot: Snapshot, chunk: Chunk, snapshots: Snapshots) -> dict[str, Any]:
    return (
        {"nextCursor": snapshots.cursor(snapshot, chunk.index + 1)}
        if snapshot.is_stored and chunk.index + 1 < chunk.total
        else {}
    )


def first_meta(text: Text, snapshot: Snapshot, request: AnswerRequest) -> Mapping[str, Any]:
    """The `meta` of a first chunk: the text's note, and the handle to the whole text."""
    if not snapshot.is_stored:
        return with_loss_note(note_of(text))
    return {
        **note_of(text),
        **({"resultHandle": snapshot.id} if request.result_operation and request.snapshot is None else {}),
    }


def note_of(text: Text) -> Mapping[str, Any]:
    """The text's note for `meta`, such as its age. A stored text has none: its first answer carried the note."""
    return text.note if isinstance(text, MemoryText) else {}


def beside_of(text: Text) -> Mapping[str, Any]:
    """The fields that the first answer has next to the text's content."""
    return text.beside if isinstance(text, MemoryText) else {}


def body_of(
    chunk: Chunk,
    place: ChunkScope,
    cursor: dict[str, Any],
    policy: Policy,
    operation: str,
    meta: Mapping[str, Any] = MappingProxyType({}),
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> Body:
    start_line = place.lines + chunk.start_line
    document = {
        **beside,
        "content": chunk.content,
        "chunkIndex": place.chunks + chunk.index,
        "totalChunks": place.chunks + chunk.total,
        **cursor,
        "metadata": {
            "startLine": start_line,
            "endLine": place.lines + chunk.end_line,
            "totalLines": place.lines + chunk.total_lines,
            "bytesInChunk": chunk.bytes,
            **place.traits.beside(start_line),
        },
        "meta": dict(meta),
    }
    return render(document, policy, operation)


def first_of_several(body: Body, original: int, request: AnswerRequest, snapshot: Snapshot) -> Envelope:
    """The first of several chunks. It counts the whole requested text as its baseline; later chunks count 0."""
    envelope = envelope_of(body, original, chunked=True, baseline=None if request.snapshot is None else 0)
    return of_chain(replace(envelope, is_complete=snapshot.is_stored), snapshot, request.position)


def of_chain(envelope: Envelope, snapshot: Snapshot, position: int | None) -> Envelope:
    """The envelope of a chunk of `snapshot`. `position`: the one in its cursor; None for the first chunk."""
    chain = snapshot.id if snapshot.is_stored else ""
    return replace(envelope, chain=chain, page=1 if position is None else position + 1)


def envelope_of(body: Body, original: int, *, chunked: bool = False, baseline: int | None = None) -> Envelope:
    return Envelope(
        body=body.data,
        outcome=Outcome.CHUNKED if chunked else Outcome.PLAIN,
        estimated_tokens=body.estimated_tokens,
        claude_tokens=body.claude_tokens,
        original_tokens=original,
        baseline_tokens=baseline,
        chunked=chunked,
        withheld=withheld_in_text(body.data.decode()),
    )
