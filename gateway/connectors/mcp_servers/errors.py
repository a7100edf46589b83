"""Errors of calls to other MCP servers, as returned to callers. They quote the server's message."""

import re
from collections.abc import Sequence
from typing import Any

import mcp.types as types
from mcp import MCPError
from pydantic import ValidationError

from context_protection.core.errors import INVALID_PARAMS, TRANSPORT
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.sanitizer import cleaned, quoted
from gateway.connectors.mcp_servers.wire import (
    ADDRESS_REFUSED,
    BUSY,
    CREDENTIALS_REJECTED,
    DEEPEST,
    LARGEST_MESSAGE,
    TOKEN_UNAVAILABLE,
    TOO_DEEP,
    TOO_LARGE,
)
from gateway.dispatch.asker import Asker
from gateway.upstreams import addresses, json_depth
from gateway.upstreams.errors import (
    AddressRefused,
    UpstreamCredentials,
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTooLarge,
    UpstreamTooSlow,
    UpstreamUnavailable,
)
from gateway.upstreams.quota import CAPACITY, UNKNOWN_WAIT, whole_seconds

QUOTED = 300  # characters of the server's message
_UNKNOWN_TOOL = re.compile(r"(?:MCP error -32602: )?(?:Unknown tool\b|Tool (?:\S{1,200} )?not found\b)", re.IGNORECASE)
DEPTH_MESSAGE = "recursion limit exceeded"  # the wording of the SDK's parser, which reads HTTP responses before we do


class ClientLacks(UpstreamError):
    """The server asked a question that could not be passed on to the caller's client."""

    code = TRANSPORT
    status = 501


class ArgumentsRefused(UpstreamRefused):
    """Our schema accepted the arguments, but the server did not."""

    code = INVALID_PARAMS
    status = 400


def refused_by_tool(server: Server) -> UpstreamRefused:
    """The error for a tool result with `isError`. The tool's own text is sent beside it."""
    return UpstreamRefused(
        f"The tool of MCP server {server.name} reports an error.",
        reason="upstream_refused",
        suggestion="See content, correct the arguments, and call again.",
    )


def runs_only_as_task(server: Server) -> UpstreamRefused:
    """The error for a tool whose server rejects plain calls of it."""
    return UpstreamRefused(
        f"MCP server {server.name} runs this tool only as a task (taskSupport: required), which is not supported here.",
        reason="upstream_task_only",
        suggestion="Use another tool: trying again does not help. The operator can switch this one off.",
    )


def refused(server: Server, error: MCPError | ValidationError) -> UpstreamError:
    """The error for an exception of the SDK."""
    if isinstance(error, MCPError) and _is_too_deep(error):
        return json_depth.too_deep(DEEPEST)
    if isinstance(error, ValidationError) or error.code == types.PARSE_ERROR:
        return UpstreamGarbled(
            f"MCP server {server.name} returned an invalid MCP result.",
            reason="upstream_garbled",
            suggestion="Try again. If the error persists, tell the operator: the server is faulty.",
        )
    detail = _detail(server, error.message)
    match error.code:
        case types.INVALID_PARAMS if _UNKNOWN_TOOL.match(error.message):  # the code that MCP specifies for it
            return _no_longer_there(server, detail)
        case types.INVALID_PARAMS:
            return ArgumentsRefused(
                f"MCP server {server.name} does not accept these arguments.",
                reason="upstream_invalid_arguments",
                suggestion="See upstream.message, correct the arguments, and call again.",
                upstream=detail,
            )
        case types.METHOD_NOT_FOUND:
            return _no_longer_there(server, detail)
        case types.REQUEST_TIMEOUT:
            return too_slow(server)
        case code if code == TOO_LARGE or "byte limit" in error.message:
            return UpstreamTooLarge(
                f"The answer of MCP server {server.name} is longer than {LARGEST_MESSAGE // 2**20} MB.",
                reason="upstream_too_large",
                suggestion="Ask its tool for less: a filter, a range, a smaller page.",
            )
        case code if code == ADDRESS_REFUSED:  # the server's name now resolves to an address that is not allowed
            return address(server)
        case code if code == CREDENTIALS_REJECTED:
            return UpstreamCredentials(
                f"MCP server {server.name} denies Sluice access: the credentials for it are missing or not accepted.",
                reason="upstream_credentials",
                suggestion="Trying again does not help. The operator should enter this server's credentials again.",
            )
        case code if code == TOKEN_UNAVAILABLE:
            return UpstreamUnavailable(
                f"MCP server {server.name} was not called: the token endpoint for its credentials does not answer.",
                reason="upstream_unavailable",
                suggestion="Try again in a minute. If the error persists, tell the operator.",
                retry_after=10,
            )
        case code if code == BUSY:
            return _busy(server, error.data)
        case types.CONNECTION_CLOSED:
            return UpstreamUnavailable(
                f"MCP server {server.name} closed the connection before it answered. It may have carried out the "
                "request.",
                reason="upstream_closed",
                suggestion="Check whether the request was carried out before you call again.",
                retry_after=1,
            )
        case _:
            return UpstreamRefused(
                f"MCP server {server.name} answered with an error.",
                reason="upstream_error",
                suggestion="See upstream.message. If the error persists, tell the operator.",
                upstream=detail,
            )


def _no_longer_there(server: Server, detail: dict[str, str]) -> UpstreamRefused:
    return UpstreamRefused(
        f"MCP server {server.name} no longer has this tool.",
        reason="upstream_unknown_tool",
        suggestion="List the tools again, and call one of them.",
        upstream=detail,
    )


def _busy(server: Server, data: Any) -> UpstreamUnavailable:
    """`data` comes from our own transport. It is validated, as a server can send an error of this code, too."""
    details = data if isinstance(data, dict) else {}
    wait, capacity = details.get("retryAfter"), details.get("capacity")
    return UpstreamUnavailable(
        f"MCP server {server.name} has had too many requests for now.",
        reason="upstream_busy",
        suggestion="Try again when retry_after seconds have passed, with fewer calls.",
        retry_after=whole_seconds(wait if isinstance(wait, int) else UNKNOWN_WAIT),
        capacity={name: left for name, left in capacity.items() if name in CAPACITY and isinstance(left, int)}
        if isinstance(capacity, dict)
        else None,
    )


def _is_too_deep(error: MCPError) -> bool:
    return error.code == TOO_DEEP or (error.code == types.PARSE_ERROR and DEPTH_MESSAGE in error.message)


def unavailable(server: Server, seconds: float) -> UpstreamUnavailable:
    """The error for a server that cannot be reached. `seconds`: until Sluice tries to reconnect."""
    return UpstreamUnavailable(
        f"MCP server {server.name} cannot be reached.",
        reason="upstream_unreachable",
        suggestion="Try again later. If the error persists, tell the operator: this server does not start or answer.",
        retry_after=max(1, round(seconds)),
    )


def no_handshake(server: Server) -> UpstreamGarbled:
    """The error for a server whose answer to `initialize` is invalid, or names a revision that is not supported."""
    return UpstreamGarbled(
        f"MCP server {server.name} answers, but offers no revision of MCP that Sluice supports, or breaks its schema.",
        reason="upstream_garbled",
        suggestion="Trying again does not help. The operator should update the server.",
    )


def list_too_large(server: Server, tools: int, pages: int, size: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(
        f"The tool list of MCP server {server.name} is endless, or has more than {tools:,} tools, {pages} pages or "
        f"{size // 2**20} MB.",
        reason="upstream_too_large",
        suggestion="The operator should ask the server for fewer tools, or remove the server.",
    )


def unreadable_tools(tools: Sequence[str]) -> str:
    """A sentence about the tools that cannot be offered; empty if there are none."""
    if not tools:
        return ""
    names = cleaned(", ".join(tools), QUOTED)
    return f"It has answered. These of its tools cannot be offered, as their definitions are invalid: {names}."


def address(server: Server) -> AddressRefused:
    return addresses.refused(f"The address of MCP server {server.name}")


def too_slow(server: Server) -> UpstreamTooSlow:
    return UpstreamTooSlow(
        f"MCP server {server.name} has not answered in time.",
        reason="upstream_timeout",
        suggestion="Ask its tool for less, or try again later.",
        retry_after=5,
    )


def check_asked(server: Server, asker: Asker) -> None:
    """Call it after a tool has failed. Raises ClientLacks if the reason is that its question could not be passed on."""
    if asker.lacking:
        raise ClientLacks(
            f"MCP server {server.name} asks for {asker.lacking}, which this client or connection does not support.",
            reason="client_capability_missing",
            expected=f"a client with the capability {asker.lacking}, over WebSocket, stdio, HTTP of MCP 2026-07-28, or "
            "HTTP with MCP_STATEFUL",
            suggestion="Call it from such a client, or pass everything that the tool needs as arguments.",
        )
    if asker.unclear:
        raise ClientLacks(
            f"MCP server {server.name} asked a question while calls of several clients were running, and did not "
            "say for which of them.",
            reason="question_unclear",
            suggestion="Call it again.",
            retry_after=1,
        )


def asks_without_end(server: Server) -> UpstreamRefused:
    return UpstreamRefused(
        f"MCP server {server.name} keeps asking questions, and returns no result.",
        reason="upstream_asks_back",
        suggestion="Pass everything that the tool needs as arguments.",
    )


def _detail(server: Server, text: str) -> dict[str, str]:
    message = quoted(text, QUOTED, server.secrets)
    return {"message": message} if message else {}
