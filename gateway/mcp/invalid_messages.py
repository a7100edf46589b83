"""Rejects messages that are not valid JSON-RPC, and says what is wrong with them.

The SDK's own transports leave some senders without an answer. Over stdio they drop an invalid message silently, and
over every transport they take a request with an invalid id, such as null or 1.5, for a notification.
"""

from typing import Any

from mcp.shared.dispatcher import as_request_id
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json

from context_protection.core.errors import CallError, shown
from gateway.mcp.message_limits import error_of, id_in

REVISIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)


class InvalidMessage(CallError):
    """The message is JSON, but not valid JSON-RPC."""

    code = INVALID_REQUEST
    status = 400


class UnparsableMessage(InvalidMessage):
    """The message is not JSON."""

    code = PARSE_ERROR


class UnknownRevision(InvalidMessage):
    """The server does not know the protocol revision that is the error's value."""

    code = UNSUPPORTED_PROTOCOL_VERSION

    def _further_data(self) -> dict[str, Any]:
        return {"supported": list(REVISIONS), "requested": shown(self.value)}


class MessageRejected(Exception):
    """`response`: the error for the sender, with the id of the request if it can be found."""

    def __init__(self, response: JSONRPCError) -> None:
        super().__init__(response.error.message)
        self.response = response


def check_content_type(scope: dict[str, Any]) -> None:
    """Raises MessageRejected for a POST whose Content-Type is not that of JSON, such as curl's default."""
    content_type = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        error = InvalidMessage(
            "The Content-Type of the request is not application/json.",
            reason="invalid_content_type",
            parameter="Content-Type",
            value=content_type,
            expected="application/json",
            suggestion="Send the header Content-Type: application/json.",
        )
        raise MessageRejected(error_of(None, error))


def message_in(data: bytes) -> JSONRPCMessage:
    """The message that `data` consists of. Raises MessageRejected."""
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        raise MessageRejected(_response(data)) from None
    if isinstance(message, JSONRPCNotification) and b'"id"' in data and "id" in from_json(data):
        raise MessageRejected(_response(data))  # a request with an invalid id, whose sender waits for an answer
    return message


def unknown_revision(data: bytes, version: str) -> MessageRejected:
    """The error for a request over HTTP whose header names a revision that this server does not know."""
    error = UnknownRevision(
        "The header MCP-Protocol-Version names an unknown revision.",
        reason="unknown_revision",
        parameter="MCP-Protocol-Version",
        value=version,
        expected=f"one of: {', '.join(REVISIONS)}",
        suggestion="Send the protocolVersion of the answer to initialize.",
    )
    return MessageRejected(error_of(id_in(data), error))


def _response(data: bytes) -> JSONRPCError:
    try:
        document = from_json(data)
    except ValueError as error:
        # Without a method it may be a response. Its id is one of the server's, so the sender does not know it.
        request_id = id_in(data) if b'"method"' in data else None
        return error_of(request_id, _unparsable(str(error)))
    is_request = isinstance(document, dict) and "method" in document
    return error_of(as_request_id(document.get("id")) if is_request else None, _problem(document))


def _unparsable(problem: str) -> UnparsableMessage:
    return UnparsableMessage(
        f"The message is not valid JSON: {problem}.",
        reason="invalid_json",
        expected="one JSON object, in UTF-8",
        suggestion="Correct the JSON, and send the message again.",
    )


def _problem(document: Any) -> InvalidMessage:
    if isinstance(document, list):
        return _invalid("Batches are not supported.", "one JSON object", "Send each message of the batch by itself.")
    if not isinstance(document, dict):
        return _invalid("The message is not an object.", "one JSON object", "Send a JSON-RPC message.")
    if document.get("jsonrpc") != "2.0":
        return _wrong_member(document, "jsonrpc", '"2.0"')
    if "method" not in document and "id" not in document:
        return _wrong_member(document, "method", "the name of a method, such as tools/call")
    if "method" in document and not isinstance(document["method"], str):
        return _wrong_member(document, "method", "the name of a method, such as tools/call")
    if "method" in document and "id" in document and as_request_id(document["id"]) is None:
        return _wrong_member(document, "id", "a text or a whole number without a fraction; none for a notification")
    if not isinstance(document.get("params", {}), dict | None):
        return _wrong_member(document, "params", "an object: parameters have names")
    expected = "a request or notification with a method, or a response with an id and a result or error"
    return _invalid("The message is not valid JSON-RPC.", expected, "Send a message of JSON-RPC 2.0.")


def _invalid(message: str, expected: str, suggestion: str) -> InvalidMessage:
    return InvalidMessage(message, reason="invalid_message", expected=expected, suggestion=suggestion)


def _wrong_member(document: dict[str, Any], name: str, expected: str) -> InvalidMessage:
    wrong = "wrong" if name in document else "missing"
    return InvalidMessage(
        f"The member {name} of the message is {wrong}.",
        reason="invalid_message",
        parameter=name,
        value=document.get(name),
        expected=expected,
        suggestion=f"Set {name} to {expected}.",
    )
