"""Errors of calls to other MCP servers, as callers read them. The server's own message is quoted."""

import mcp.types as types
from mcp import MCPError
from pydantic import ValidationError

from context_protection.core.errors import INVALID_PARAMS
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.sanitizer import quoted
from gateway.connectors.mcp_servers.wire import (
    DEEPEST,
    LARGEST,
    NO_TOKEN,
    NOT_CONNECTED_TO,
    NOT_LET_IN,
    TOO_DEEP,
    TOO_LARGE,
)
from gateway.upstreams import addresses, nesting
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

QUOTED = 300  # characters of the server's message
OF_DEPTH = "recursion limit exceeded"  # the wording of the SDK's parser, which reads HTTP responses before we do


class ArgumentsRefused(UpstreamRefused):
    """Our schema accepted the arguments, but the server did not."""

    code = INVALID_PARAMS
    status = 400


def refused_by_tool(server: Server, result: types.CallToolResult) -> UpstreamRefused:
    """The error for a tool result with `isError`."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return UpstreamRefused(
        f"The tool of MCP server {server.name} reports an error.",
        reason="upstream_refused",
        suggestion="See upstream.message, correct the arguments, and call again.",
        upstream=_detail(server, "\n".join(texts)),
    )


def refused(server: Server, error: MCPError | ValidationError) -> UpstreamError:
    """The error for an exception of the SDK."""
    if isinstance(error, MCPError) and _is_too_deep(error):
        return nesting.too_deep(DEEPEST)
    if isinstance(error, ValidationError) or error.code == types.PARSE_ERROR:
        return UpstreamGarbled(
            f"MCP server {server.name} answered with what is no valid MCP result.",
            reason="upstream_garbled",
            suggestion="Try again. If it stays, tell the operator: the server is faulty.",
        )
    detail = _detail(server, error.message)
    match error.code:
        case types.INVALID_PARAMS:
            return ArgumentsRefused(
                f"MCP server {server.name} does not accept these arguments.",
                reason="upstream_invalid_arguments",
                suggestion="See upstream.message, correct the arguments, and call again.",
                upstream=detail,
            )
        case types.METHOD_NOT_FOUND:
            return UpstreamRefused(
                f"MCP server {server.name} no longer has this tool.",
                reason="upstream_unknown_tool",
                suggestion="List the tools again, and call one of them.",
                upstream=detail,
            )
        case types.REQUEST_TIMEOUT:
            return too_slow(server)
        case code if code == TOO_LARGE or "byte limit" in error.message:
            return UpstreamTooLarge(
                f"The answer of MCP server {server.name} is longer than {LARGEST // 2**20} MB.",
                reason="upstream_too_large",
                suggestion="Ask its tool for less: a filter, a range, a smaller page.",
            )
        case code if code == NOT_CONNECTED_TO:  # its name now resolves to an address that is not allowed
            return address(server)
        case code if code == NOT_LET_IN:
            return UpstreamCredentials(
                f"MCP server {server.name} does not let Sluice in: its credentials are missing, or not accepted.",
                reason="upstream_credentials",
                suggestion="Trying again does not help. The operator should enter this server's credentials again.",
            )
        case code if code == NO_TOKEN:
            return UpstreamUnavailable(
                f"MCP server {server.name} was not asked: the token endpoint that lets Sluice in does not answer.",
                reason="upstream_unavailable",
                suggestion="Try again in a minute. If it stays, tell the operator.",
                retry_after=10,
            )
        case types.CONNECTION_CLOSED:
            return UpstreamUnavailable(
                f"MCP server {server.name} ended the connection before it had answered. What was asked may have been "
                "done or not.",
                reason="upstream_closed",
                suggestion="Look whether it was done; then call again.",
                retry_after=1,
            )
        case _:
            return UpstreamRefused(
                f"MCP server {server.name} answered with an error.",
                reason="upstream_error",
                suggestion="See upstream.message. If it stays, tell the operator.",
                upstream=detail,
            )


def _is_too_deep(error: MCPError) -> bool:
    return error.code == TOO_DEEP or (error.code == types.PARSE_ERROR and OF_DEPTH in error.message)


def unavailable(server: Server, seconds: float) -> UpstreamUnavailable:
    """The server cannot be reached now. `seconds`: until Sluice tries to connect again."""
    return UpstreamUnavailable(
        f"MCP server {server.name} cannot be reached.",
        reason="upstream_unreachable",
        suggestion="Try again later. If it stays, tell the operator that this server does not start or answer.",
        retry_after=max(1, round(seconds)),
    )


def list_too_large(server: Server, tools: int, pages: int, size: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(
        f"The tool list of MCP server {server.name} has no end, or more than {tools:,} tools, {pages} pages or "
        f"{size // 2**20} MB.",
        reason="upstream_too_large",
        suggestion="The operator should ask the server for fewer tools, or take it out.",
    )


def address(server: Server) -> AddressRefused:
    return addresses.refused(f"The address of MCP server {server.name}")


def too_slow(server: Server) -> UpstreamTooSlow:
    return UpstreamTooSlow(
        f"MCP server {server.name} has not answered in time.",
        reason="upstream_timeout",
        suggestion="Ask its tool for less, or try again later.",
        retry_after=5,
    )


def asks_back(server: Server) -> UpstreamRefused:
    return UpstreamRefused(
        f"MCP server {server.name} asks its user something before it answers, which Sluice cannot pass on.",
        reason="upstream_asks_back",
        suggestion="Give it all that it needs in the arguments.",
    )


def _detail(server: Server, text: str) -> dict[str, str]:
    message = quoted(text, QUOTED, server.secrets)
    return {"message": message} if message else {}
