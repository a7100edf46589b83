"""The ids that a client sends with a request: `X-Request-ID`, and the trace of a `traceparent` (W3C Trace Context)."""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from random import getrandbits
from typing import Any

from context_protection.core.context_value import ContextValue

HEADER = b"x-request-id"
TRACEPARENT = "traceparent"

# 8 to 64 characters that need no escaping in a log, a URL or a header.
SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}")
PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

# The id of the HTTP request, or of the call over a transport without requests. "": none yet.
request_id: ContextVar[str] = ContextVar("request_id", default="")
# The trace that the client sent; "": none.
client_trace: ContextVar[str] = ContextVar("client_trace", default="")


def new_id() -> str:
    """An identifier, not a secret."""
    return f"{getrandbits(128):032x}"


def current_or_new_id() -> str:
    return request_id.get() or new_id()


def named(call_id: str) -> ContextValue[str]:
    """In the block, log lines have the id of a call that arrives without an HTTP request."""
    return ContextValue(request_id, call_id)


def accept(offered: str) -> str:
    """The client's own request id if it matches SANE_ID, else a new one."""
    return offered if offered and SANE_ID.fullmatch(offered) else new_id()


def trace_in(traceparent: str) -> str:
    """The trace id of a `traceparent`; "" if it is not valid."""
    match = PARENT.fullmatch(traceparent)
    return match[1] if match and not traceparent.startswith("ff") else ""


def note_trace_of(meta: Mapping[str, Any] | None) -> None:
    """Uses the trace in an MCP request's `_meta`, which is closer to the call than the HTTP request's trace."""
    if meta and isinstance(parent := meta.get(TRACEPARENT), str) and (trace := trace_in(parent)):
        client_trace.set(trace)
