"""Splits a value that is too large for one answer into parts, which merge to the same value (law 2, ruling 15).

Parts merge by structure: objects by key, arrays by appending, texts by joining. `continues` names the path of the value
that a part continues. If the path ends in an index, the part's first element there continues the element with that
index; otherwise the first element follows the last one of the previous part.

A position is the path to the start of the next part: an index at each level (of an object: among its keys, in order),
then an offset if the part starts within a text. Cursors therefore stay short, however long the keys are.
"""

from dataclasses import dataclass
from typing import Any

from context_protection.core.budget import dumps, length
from context_protection.core.splitting import sentences

Position = list[Any]
SMALLEST_ROOM = 40  # characters; the least room in which every part makes progress


@dataclass(frozen=True, slots=True)
class Part:
    value: Any
    following: Position | None  # where the next part begins; None: this is the last part


def take(value: Any, position: Position, room: int) -> Part:
    """The part of `value` from `position` on that takes about `room` characters of compact JSON. Every part
    makes progress."""
    if isinstance(value, str):
        return _take_text(value, position[0] if position else 0, room)
    if isinstance(value, dict):
        return _take_entries(value, position, room)
    if isinstance(value, list):
        return _take_elements(value, position, room)
    return Part(value, None)


def _take_text(text: str, start: int, room: int) -> Part:
    rest = text[start:]
    if length(dumps(rest)) <= room:
        return Part(rest, None)
    # Each character takes at least one character of JSON. If escapes make the piece too long, the caller retries with
    # less room.
    end = sentences.piece_end(rest, max(room - 2, SMALLEST_ROOM))
    return Part(rest[:end], [start + end]) if end < len(rest) else Part(rest, None)


def _take_entries(value: dict[str, Any], position: Position, room: int) -> Part:
    names = list(value)
    first = position[0] if position else 0
    piece: dict[str, Any] = {}
    left = room - 2
    for index in range(first, len(names)):
        name = names[index]
        left -= length(dumps(name)) + 2
        part, left = _take_member(value[name], position[1:] if index == first else [], left, room, alone=not piece)
        if part is None:
            return Part(piece, [index])
        piece[name] = part.value
        if part.following is not None:
            return Part(piece, [index, *part.following])
    return Part(piece, None)


def _take_elements(value: list[Any], position: Position, room: int) -> Part:
    first = position[0] if position else 0
    piece: list[Any] = []
    left = room - 2
    for index in range(first, len(value)):
        inner = position[1:] if index == first else []
        part, left = _take_member(value[index], inner, left - 1, room, alone=not piece)
        if part is None:
            return Part(piece, [index])
        piece.append(part.value)
        if part.following is not None:
            return Part(piece, [index, *part.following])
    return Part(piece, None)


def _take_member(value: Any, position: Position, left: int, room: int, *, alone: bool) -> tuple[Part | None, int]:
    """The part of a member that fits into `left` characters, and the characters then left. None: the whole member goes
    into the next part instead of being split. A member that is `alone` is never postponed: each part must progress."""
    size = length(dumps(value)) if not position else room
    if size <= left:
        return Part(value, None), left - size
    if not alone and (left < SMALLEST_ROOM or size <= room * 3 // 4):
        return None, left
    part = take(value, position, left)
    return part, left - length(dumps(part.value))


def continues(value: Any, position: Position) -> str | None:
    """The dotted path of the value that the part at `position` continues. None if the part begins with a new top-level
    member."""
    names: list[str] = []
    for depth, step in enumerate(position, start=1):
        is_last = depth == len(position)
        if isinstance(value, str) or (is_last and isinstance(value, (list, dict))):
            break  # within a text, or at a new member of the value at `names`
        key = list(value)[step] if isinstance(value, dict) else step
        names.append(str(key))
        value = value[key]
    return ".".join(names) or None
