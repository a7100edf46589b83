"""Reads all pages of a server's tool list, up to limits."""

import mcp.types as types
from mcp import Client

from gateway.connectors.mcp_servers import errors
from gateway.connectors.mcp_servers.configuration import Server

MAX_PAGES, MAX_TOOLS = 100, 2_000
LARGEST = 8 * 2**20  # bytes of all tools as JSON


async def listed(client: Client, server: Server) -> list[types.Tool]:
    """The tools of all pages. Paging also ends at a repeated cursor, as its page was already read. Raises
    UpstreamTooLarge, MCPError, ValidationError."""
    tools: list[types.Tool] = []
    seen: set[str | None] = {None}
    size, cursor = 0, None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        size += len(page.model_dump_json(by_alias=True, exclude_none=True))
        if len(tools) > MAX_TOOLS or size > LARGEST:
            break
        cursor = page.next_cursor
        if cursor in seen:
            return tools
        seen.add(cursor)
    raise errors.list_too_large(server, MAX_TOOLS, MAX_PAGES, LARGEST)
