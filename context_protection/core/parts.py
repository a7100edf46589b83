"""A value too large for one answer, in parts that put together are the value again (law 2, ruling 15).

Parts are merged by their structure: objects by key, arrays by appending, texts by joining. `continues` names the
path whose value a part goes on with; where it ends in an index, the part's first element there goes on with that
element instead of following it.

A position is the path to where the next part begins: an index at each level (of an object, in its order of keys), and
last an offset when it is within a text. So a cursor is short, however long the keys are.
"""

from dataclasses import dataclass
from typing import Any

from context_protection.core.budget import dumps, length
from context_protection.core.splitting import sentences

Position = list[Any]
SMALLEST_ROOM = 40  # characters: a part always gets on


@dataclass(frozen=True, slots=True)
class Part:
    value: Any
    following: Position | None  # where the next part begins; None: this was the last


def take(value: Any, position: Position, room: int) -> Part:
    """The part of `value` from `position` on that takes about `room` characters of compact JSON, at least
    something."""
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
    # A character takes at least one of JSON's; escapes make the piece longer, and the caller then asks for less.
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
    """As much of a member as is left room for, and what then is left. None: rather the whole of it in the next part
    than a piece of it in this one; unless it is `alone`, for a part always gets on."""
    size = length(dumps(value)) if not position else room
    if size <= left:
        return Part(value, None), left - size
    if not alone and (left < SMALLEST_ROOM or size <= room * 3 // 4):
        return None, left
    part = take(value, position, left)
    return part, left - length(dumps(part.value))


def continues(value: Any, position: Position) -> str | None:
    """The dotted path that a part beginning at `position` goes on with; None where it begins something new at the
    top."""
    names: list[str] = []
    for depth, step in enumerate(position, start=1):
        is_last = depth == len(position)
        if isinstance(value, str) or (is_last and isinstance(value, (list, dict))):
            break  # within a text, or at a new element or entry of what `names` lead to
        key = list(value)[step] if isinstance(value, dict) else step
        names.append(str(key))
        value = value[key]
    return ".".join(names) or None


def merge(whole: Any, piece: Any, path: str, continued: str | None) -> Any:
    """`whole` with the next part added: what a client does, and what the laws are tested with."""
    if isinstance(whole, str):
        return whole + piece
    if isinstance(whole, list):
        last = f"{path}{len(whole) - 1}"
        if continued is not None and (continued == last or continued.startswith(f"{last}.")):
            return [*whole[:-1], merge(whole[-1], piece[0], f"{last}.", continued), *piece[1:]]
        return [*whole, *piece]
    if isinstance(whole, dict):
        merged = dict(whole)
        for name, value in piece.items():
            merged[name] = merge(whole[name], value, f"{path}{name}.", continued) if name in whole else value
        return merged
    return piece
