"""Rejects messages with too many values or nesting levels before they are parsed."""

import re

import orjson
from mcp.shared.dispatcher import as_request_id
from mcp.types import ErrorData, JSONRPCError, RequestId

from context_protection.core import json_limits
from context_protection.core.errors import CallError, InvalidArgument

EDGE = 1024  # bytes at each end of a message that are searched for its id

# Finds the id without parsing the message. Clients write it before or after `params`, next to other short members.
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_MEMBER = rb"%b\s*:\s*(?:%b|-?\d+)" % (_TEXT, _TEXT)
_ID = rb'"id"\s*:\s*("[^"\\]{1,200}"|-?\d{1,15})\s*'
_ID_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)*?%b[,}]" % (_MEMBER, _ID))
_ID_LAST = re.compile(rb"%b(?:,\s*%b\s*)*\}\s*\Z" % (_ID, _MEMBER))


def complexity_problem(text: bytes | str) -> InvalidArgument | None:
    """The error for a message that must not be parsed; None if it may be."""
    try:
        json_limits.check(text, "message")
    except InvalidArgument as error:
        return error
    return None


def error_response(text: bytes | str, error: CallError) -> JSONRPCError:
    """The error for a message, with its id if it can be found, because the sender waits for an answer with that id."""
    return error_of(id_in(text), error)


def error_of(request_id: RequestId | None, error: CallError) -> JSONRPCError:
    details = error.document()["error"]
    data = {"reason": details["reason"], **details["data"]}
    return JSONRPCError(
        jsonrpc="2.0", id=request_id, error=ErrorData(code=details["code"], message=details["message"], data=data)
    )


def id_in(text: bytes | str) -> RequestId | None:
    """The id of a message that cannot be parsed."""
    first, last = (
        edge.encode("utf-8", "replace") if isinstance(edge, str) else edge for edge in (text[:EDGE], text[-EDGE:])
    )
    found = _ID_FIRST.match(first) or _ID_LAST.search(last)
    try:
        return as_request_id(orjson.loads(found[1])) if found else None
    except orjson.JSONDecodeError:  # bytes that are not UTF-8
        return None
