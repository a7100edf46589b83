"""The errors of a call, as shown to its caller.

They are one hierarchy. Each transport turns them into an answer in one place (REST: status and body; MCP: an
`isError` result with the same body). Every message says what to do next.
"""

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import orjson

from context_protection.core.cached_property import cached_property
from context_protection.core.redaction import mark, path_kind, redact
from context_protection.core.tokens import MARGIN, claude, most_tokens

# JSON-RPC's own error codes, and those from the range that it leaves to servers.
INVALID_REQUEST = -32600
UNKNOWN_OPERATION = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
UPSTREAM = -32000
STORE = -32001
CONDENSING = -32002
CONTEXT = -32003
TRANSPORT = -32004

# The meaning of each code. docs/clients.md lists the same.
CODES: Mapping[int, str] = {
    INVALID_REQUEST: "The request is not valid, or the key may not do this.",
    UNKNOWN_OPERATION: "There is no such operation or address.",
    INVALID_PARAMS: "An argument is missing, unknown or wrong, or the record does not exist.",
    INTERNAL: "Something failed inside Sluice.",
    UPSTREAM: "An upstream failed or rejected the call, or the call took too long.",
    STORE: "The cache, or a store that the call needs, is unavailable for the moment.",
    CONDENSING: "The answer could not be condensed.",
    CONTEXT: "A cursor or handle has expired or is not valid here, or the answer cannot fit its budget.",
    TRANSPORT: "The transport rejected the request: it is too slow or too large, or there are too many at once.",
}

SHOWN_VALUE_CHARS = 80
LONGEST_NAME = 200  # characters of a name that are compared with other names
LONGEST_TEXT = 2000  # characters of one text of an error
MAX_TOKENS = 900  # Claude tokens of an error; the smallest hard cap is 1,000


@dataclass(unsafe_hash=True)
class CallError(Exception):
    """The base of all errors of a call. Treat it as immutable. It cannot be frozen, because contextlib assigns the
    traceback.

    `parameter`, `value`, `expected` and `suggestion` are shown to the caller, so they never hold internals: no path,
    SQL, class name or secret. `made_by` and `made_with`, the operation that made the result behind a handle and its
    arguments, are not shown.
    """

    message: str
    reason: str = ""
    parameter: str = ""
    value: Any = None
    expected: str = ""
    suggestion: str = ""
    retry_after: int | None = None
    made_by: str = ""
    made_with: Mapping[str, Any] = field(default_factory=dict, hash=False)

    code: ClassVar[int] = INTERNAL
    status: ClassVar[int] = 500

    def document(self) -> dict[str, Any]:
        """`{"error": {code, reason, message, data: {parameter, value, expected, suggestion, retry_after}}}`. Empty
        members of `data` are left out; `value` is left out only if `parameter` is."""
        data: dict[str, Any] = {}
        if self.parameter:
            data["parameter"] = shown(self.parameter)
            data["value"] = _redacted_value(self.parameter, self.value)
        for name in ("expected", "suggestion", "retry_after"):
            if getattr(self, name):
                data[name] = _short(getattr(self, name))
        data |= self._further_data()
        return _fitted({"code": self.code, "reason": self.reason, "message": _short(self.message), "data": data})

    def _further_data(self) -> dict[str, Any]:
        """Members of `data` that only some errors have."""
        return {}

    @cached_property
    def body(self) -> bytes:
        """The document as it is sent: compact JSON."""
        return orjson.dumps(self.document(), default=str, option=orjson.OPT_NON_STR_KEYS)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles all fields, so that another process can raise the error. Python's default drops the keyword
        arguments."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))


def _redacted_value(parameter: str, value: Any) -> Any:
    """The value for an error message, with secrets redacted: clients log errors and show them in transcripts."""
    kind = path_kind(parameter)
    if kind is not None and value is not None:
        return mark(kind)
    return shown(redact(value)[0] if isinstance(value, (dict, list)) else value)


def _short(value: Any) -> Any:
    """Cuts long texts. An error may repeat names of any length from the request, and must stay small."""
    return value if not isinstance(value, str) or len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"


def _fitted(error: dict[str, Any]) -> dict[str, Any]:
    """Halves the longest text of the error until it fits the smallest possible hard cap (law 1)."""
    document = {"error": error}
    data = error["data"]
    holders = [error, data, *(each for each in data.values() if isinstance(each, dict))]
    while not _fits(document):
        texts = [(holder, name) for holder in holders for name, each in holder.items() if isinstance(each, str)]
        holder, name = max(texts, key=lambda place: len(place[0][place[1]]))
        holder[name] = f"{holder[name][: len(holder[name]) // 2]}…"
    return document


def _fits(document: Mapping[str, Any]) -> bool:
    text = json.dumps(document, ensure_ascii=False, default=str)
    # Thanks to this bound, most errors are not counted, and errors at startup do not load the vocabulary.
    most = most_tokens(text.encode())
    return (most is not None and most <= MAX_TOKENS) or claude.count(text) * MARGIN <= MAX_TOKENS


def nearest(name: str, names: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The most similar of `names`, ignoring case. None if none is similar enough."""
    by_lower = {each.lower(): each for each in names}
    close = difflib.get_close_matches(name[:LONGEST_NAME].lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def shown(value: Any) -> Any:
    """A value as an error shows it. A long one is cut, so that errors stay small."""
    if isinstance(value, str):
        # A lone surrogate is valid in JSON's \u form but not in UTF-8.
        text = value.encode("utf-8", "replace").decode()
        return text if len(text) <= SHOWN_VALUE_CHARS else f"{text[:SHOWN_VALUE_CHARS]}… ({len(text)} characters)"
    if value is None or isinstance(value, (bool, int, float)):
        return value if not isinstance(value, int) or abs(value) < 2**53 else str(value)[:SHOWN_VALUE_CHARS]
    return shown(repr(value))


class InvalidArgument(CallError):
    code = INVALID_PARAMS
    status = 400


class InvalidCursor(InvalidArgument):
    """`reason` is cursor_invalid, cursor_expired or cursor_mismatch (FR-008)."""

    code = CONTEXT


class InvalidHandle(InvalidArgument):
    """`reason` is handle_invalid or handle_expired."""

    code = CONTEXT


class OverBudget(InvalidArgument):
    """No answer to the call would fit its budget."""

    code = CONTEXT


class NotFound(CallError):
    code = INVALID_PARAMS
    status = 404


class UnknownOperation(CallError):
    code = UNKNOWN_OPERATION
    status = 404


class NotAllowed(CallError):
    code = INVALID_REQUEST
    status = 403


class NotAuthenticated(CallError):
    code = INVALID_REQUEST
    status = 401


class TooSlow(CallError):
    """The call took longer than its policy allows."""

    code = UPSTREAM
    status = 504


class EmptyPages(CallError):
    """Upstream sends page after page without rows."""

    code = UPSTREAM
    status = 502


class StoreUnavailable(CallError):
    """A store that the call needs is unreachable, frozen, locked or full. The same call may succeed a little later."""

    code = STORE
    status = 503


class InternalError(CallError):
    """A fault of the server. The log has the details under the request id; the answer has none."""


class CondensingFailed(InternalError):
    """The data was fetched, but could not be made small enough."""

    code = CONDENSING


def invalid_cursor(reason: str, token: str, message: str) -> InvalidCursor:
    return InvalidCursor(
        message,
        reason=reason,
        parameter="cursor",
        value=token,
        expected="the nextCursor of an answer of this operation, with the same filters, order and key",
        suggestion="Start again without cursor; use each nextCursor within 10 minutes.",
    )


def store_unavailable(seconds: float) -> StoreUnavailable:
    """`seconds`: how long to wait before the next attempt."""
    wait = max(1, math.ceil(seconds))
    return StoreUnavailable(
        "A store that this call needs is temporarily unavailable. No data was lost.",
        reason="store_unavailable",
        suggestion=f"Send the same call again in {wait} second{'s' if wait > 1 else ''}, with the same cursor or "
        "handle if it has one.",
        retry_after=wait,
    )
