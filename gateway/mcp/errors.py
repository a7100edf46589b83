"""Protocol errors for requests that are not tool calls. Each says how to correct the request."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import mcp.types as types
from mcp import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from context_protection.core.errors import CallError, InternalError, InvalidCursor, NotFound, shown, store_unavailable
from context_protection.stores.database_errors import means_unavailable

logger = logging.getLogger(__name__)

# The code for a missing resource before revision 2026-07-28; later revisions use INVALID_PARAMS.
RESOURCE_NOT_FOUND = -32002


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


def _protocol_error(error: CallError, protocol_version: str, uri: str | None) -> MCPError:
    details = error.document()["error"]
    is_missing = uri is not None and isinstance(error, NotFound)
    code = types.INVALID_PARAMS if isinstance(error, InvalidCursor) else error.code
    if is_missing:
        code = RESOURCE_NOT_FOUND if protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else types.INVALID_PARAMS
    data = {**details["data"], "uri": shown(uri)} if is_missing else details["data"]
    return MCPError(code, details["message"], data)
