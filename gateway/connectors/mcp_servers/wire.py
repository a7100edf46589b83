"""Reads a child's output as lines of bounded length, and the messages in them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import mcp.types as types
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, JSONRPCError, jsonrpc_message_adapter

from context_protection.core import json_limits

LARGEST_MESSAGE = 64 * 2**20  # bytes of a message
DEEPEST = 198  # levels of structured content: the SDK's parser accepts 200, and the message and its result use two
# Our own error codes: a message too large to read, a session that the server no longer knows, an address that is not
# allowed, credentials that are missing or rejected, a token that cannot be fetched now, too many levels, and too many
# requests.
TOO_LARGE, SESSION_UNKNOWN, ADDRESS_REFUSED, CREDENTIALS_REJECTED, TOKEN_UNAVAILABLE = (
    -32098,
    -32097,
    -32096,
    -32095,
    -32094,
)
TOO_DEEP, BUSY = -32093, -32092
STORED_END_BYTES = 200  # bytes that are stored of each end of a line that is too long
_OUTCOME = re.compile(rb'"(?:result|error)"')
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
# JSON in runs without lone surrogates, an escape that is incomplete at the end of a chunk, and a lone surrogate.
_RUN = re.compile(
    rb"""(?:[^\\]++
        |\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
        |\\(?!u[dD][89a-fA-F]|u?[dD]?\Z).)++
    |(?P<open>\\(?:u(?:[dD](?:[89a-fA-F][0-9a-fA-F]?)?)?)?\Z
        |\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z)
    |(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})""",
    re.DOTALL | re.VERBOSE,
)
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class TruncatedLine:
    """The beginning and the end of a line that is too long to be read."""

    head: bytes
    tail: bytes


class Lines:
    """Divides a stream into lines of at most `most` bytes. A longer line becomes a `TruncatedLine` with `ends` bytes of
    each end."""

    def __init__(self, most: int, ends: int = STORED_END_BYTES) -> None:
        self.most, self.ends = most, ends
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TruncatedLine]:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            yield self._finished()
        self._add(rest)

    @property
    def has_no_end(self) -> bool:
        """Whether the current line is already longer than twice the limit."""
        return self._size > 2 * self.most

    def rest(self) -> Iterator[bytes | TruncatedLine]:
        """The last line, if the stream ended without a newline."""
        if self._size:
            yield self._finished()

    def _add(self, part: bytes) -> None:
        self._head += part[: self.ends - len(self._head)]
        self._size += len(part)
        if self._size > self.most:
            self._parts = [b"".join([*self._parts[-1:], part])[-self.ends :]]
        elif part:
            self._parts.append(part)

    def _finished(self) -> bytes | TruncatedLine:
        joined = b"".join(self._parts)
        line = joined if self._size <= self.most else TruncatedLine(self._head, joined)
        self._parts, self._size, self._head = [], 0, b""
        return line


def message_of(line: bytes | TruncatedLine) -> SessionMessage | None:
    """The message in a line. For a response that is too long or invalid: an error response to the same request, if the
    line's beginning or end contains the request's id. None for any other line, as some servers print to stdout."""
    if isinstance(line, TruncatedLine):
        return _error_response(line, TOO_LARGE, "too large")
    return _read(line) or _read(_without_lone_surrogates(line)) or _unreadable(line)


def _read(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _unreadable(line: bytes) -> SessionMessage | None:
    ends = TruncatedLine(line[:STORED_END_BYTES], line[-STORED_END_BYTES:])
    if json_limits.is_deeper(line, DEEPEST + 2):
        return _error_response(ends, TOO_DEEP, "too deep")
    return _error_response(ends, PARSE_ERROR, "unreadable")


def _without_lone_surrogates(line: bytes) -> bytes:
    """The line with a replacement character for each lone surrogate; servers produce these when they truncate texts."""
    text = line.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return _LONE_SURROGATES.sub("\ufffd", text).encode()


class LoneSurrogates:
    """Replaces the escapes of lone surrogates in a JSON that comes in chunks, as `_without_lone_surrogates` does in a
    line. An escape that is not complete is held back until the next chunk."""

    def __init__(self) -> None:
        self.rest = b""

    def replaced(self, chunk: bytes) -> bytes:
        data, self.rest = self.rest + chunk, b""
        return _RUN.sub(self._kept, data) if b"\\" in data else data

    def _kept(self, match: re.Match[bytes]) -> bytes:
        if match["open"] is not None:
            self.rest = match["open"]
            return b""
        return b"\\ufffd" if match["lone"] is not None else match[0]


def _error_response(line: TruncatedLine, code: int, message: str) -> SessionMessage | None:
    if b'"method"' in _OUTCOME.split(line.head)[0]:
        return None  # a request or notification of the server, not a response
    found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    if found is None:
        return None
    error = types.ErrorData(code=code, message=message)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error))
