"""Protocol errors for requests that are not tool calls. Each says how to correct the request."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mcp.types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from context_protection.core.errors import (
    CallError,
    InternalError,
    InvalidArgument,
    InvalidCursor,
    NotFound,
    shown,
    store_unavailable,
)
from context_protection.stores.database_errors import means_unavailable

logger = logging.getLogger(__name__)

# The code for a missing resource before revision 2026-07-28; later revisions use INVALID_PARAMS.
RESOURCE_NOT_FOUND = -32002

# How the SDK answers a request before the handshake, except that it then has no more to say about its parameters.
NOT_INITIALIZED = (types.INVALID_PARAMS, "Invalid request parameters")


@contextmanager
def as_protocol_errors(protocol_version: str, *, uri: str | None = None) -> Iterator[None]:
    """Turns every exception into an MCPError without internal details; the SDK would send the exception's own text.
    `uri`: the requested resource."""
    try:
        yield
    except CallError as error:
        raise _protocol_error(error, protocol_version, uri) from None
    except Exception as error:
        if means_unavailable(error):
            raise _protocol_error(store_unavailable(1), protocol_version, uri) from None
        logger.exception("MCP request failed")
        failure = InternalError("Something failed on our side; nothing was changed.", suggestion="Try again.")
        raise _protocol_error(failure, protocol_version, uri) from None


async def explained(ctx: ServerRequestContext[Any], call_next: CallNext) -> BaseModel | dict[str, Any] | None:
    """Middleware that says which parameter of a request is wrong, or that the handshake is missing. The SDK answers
    both with "Invalid request parameters", and no more."""
    try:
        return await call_next(ctx)
    except ValidationError as invalid:
        raise _protocol_error(_invalid_parameter(ctx, invalid), ctx.protocol_version, None) from None
    except MCPError as error:
        if (error.error.code, error.error.message) == NOT_INITIALIZED and not error.error.data:
            raise _protocol_error(_not_initialized(ctx), ctx.protocol_version, None) from None
        raise


def _invalid_parameter(ctx: ServerRequestContext[Any], invalid: ValidationError) -> InvalidArgument:
    found = invalid.errors(include_url=False, include_context=False)[0]
    location = [str(part) for part in found["loc"]]
    path, value = _wrong_member(ctx.params, location)
    name = ".".join(path)
    is_missing = found["type"] == "missing" and path == location
    expected = "a value" if is_missing else found["msg"].removeprefix("Input should be ")
    if len(path) < len(location):  # the protocol allows several types, and the value has none of them
        expected = f"what MCP {ctx.protocol_version} describes"
    return InvalidArgument(
        f"{ctx.method}: {name} is {'missing' if is_missing else 'invalid'}.",
        reason="invalid_parameters",
        parameter=name,
        value=value,
        expected=expected,
        suggestion=f"Set {name} as MCP {ctx.protocol_version} describes it for {ctx.method}.",
    )


def _wrong_member(params: Any, location: Sequence[str]) -> tuple[list[str], Any]:
    """The path to the wrong member, and its value. `location`: the validator's, which also names types."""
    path, value = ["params"], params
    for part in location[1:]:
        if not isinstance(value, dict):
            break
        if part not in value and part != location[-1]:
            break
        path, value = [*path, part], value.get(part)
    return path, value


def _not_initialized(ctx: ServerRequestContext[Any]) -> InvalidArgument:
    return InvalidArgument(
        f"{ctx.method} came before the handshake.",
        reason="not_initialized",
        parameter="method",
        value=ctx.method,
        expected="initialize as the first request of a connection",
        suggestion="Send initialize, wait for its result, send notifications/initialized, and repeat the request.",
    )


def _protocol_error(error: CallError, protocol_version: str, uri: str | None) -> MCPError:
    details = error.document()["error"]
    is_missing = uri is not None and isinstance(error, NotFound)
    code = types.INVALID_PARAMS if isinstance(error, InvalidCursor) else error.code
    if is_missing:
        code = RESOURCE_NOT_FOUND if protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else types.INVALID_PARAMS
    data = {**details["data"], "uri": shown(uri)} if is_missing else details["data"]
    return MCPError(code, details["message"], data)
