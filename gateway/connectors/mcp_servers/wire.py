"""Lines of a child's output, of which none grows without bound."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import mcp.types as types
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, JSONRPCError, jsonrpc_message_adapter

from context_protection.core import json_limits

LARGEST = 64 * 2**20  # bytes of a message
DEEPEST = 198  # levels of a structured content: the SDK's parser takes 200, and the message and its result are two
# Our own codes: of what came and was not read, of a session that the server no longer knows, of a private address, of
# credentials that are missing or not taken, of a token that cannot be had now, and of a message of too many levels.
TOO_LARGE, FORGOTTEN, NOT_CONNECTED_TO, NOT_LET_IN, NO_TOKEN = -32098, -32097, -32096, -32095, -32094
TOO_DEEP = -32093
ENDS = 200  # bytes of a line that was too long, from its beginning and from its end
_OUTCOME = re.compile(rb'"(?:result|error)"')
_HALVES = re.compile("[\ud800-\udfff]")
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a line that was longer than is read."""

    head: bytes
    tail: bytes


class Lines:
    """Divides a stream into lines of at most `most` bytes; of a longer one its `ends` are kept."""

    def __init__(self, most: int, ends: int = ENDS) -> None:
        self.most, self.ends = most, ends
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | Cut]:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            yield self._finished()
        self._add(rest)

    @property
    def has_no_end(self) -> bool:
        """What is read now was too long long ago."""
        return self._size > 2 * self.most

    def rest(self) -> Iterator[bytes | Cut]:
        """What had no end."""
        if self._size:
            yield self._finished()

    def _add(self, part: bytes) -> None:
        self._head += part[: self.ends - len(self._head)]
        self._size += len(part)
        if self._size > self.most:
            self._parts = [b"".join([*self._parts[-1:], part])[-self.ends :]]
        elif part:
            self._parts.append(part)

    def _finished(self) -> bytes | Cut:
        joined = b"".join(self._parts)
        line = joined if self._size <= self.most else Cut(self._head, joined)
        self._parts, self._size, self._head = [], 0, b""
        return line


def message_of(line: bytes | Cut) -> SessionMessage | None:
    """The message that a line holds; of one that was too long, the refusal of the request that it answered, if it says
    at its beginning or end which that is; so too of one that cannot be read. None for a line that is none: a server
    should not print, but some do."""
    if isinstance(line, Cut):
        return _refusal(line, TOO_LARGE, "too large")
    return _read(line) or _read(_mended(line)) or _unreadable(line)


def _read(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _unreadable(line: bytes) -> SessionMessage | None:
    ends = Cut(line[:ENDS], line[-ENDS:])
    if json_limits.is_deeper(line, DEEPEST + 2):
        return _refusal(ends, TOO_DEEP, "too deep")
    return _refusal(ends, PARSE_ERROR, "unreadable")


def _mended(line: bytes) -> bytes:
    """With a mark in the place of each half of a character: servers that shorten texts leave such behind."""
    text = line.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return _HALVES.sub("\ufffd", text).encode()


def _refusal(line: Cut, code: int, message: str) -> SessionMessage | None:
    if b'"method"' in _OUTCOME.split(line.head)[0]:
        return None  # it answers nothing
    found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    if found is None:
        return None
    error = types.ErrorData(code=code, message=message)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error))
