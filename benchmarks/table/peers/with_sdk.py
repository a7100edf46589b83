"""The MCP SDK alone, stateless, JSON: two tools that fetch from the upstream and pass its text on.

python -m benchmarks.table.peers.with_sdk UPSTREAM PORT
"""

import sys
from typing import Any

import aiohttp
import mcp.types as types
import uvicorn
from mcp.server import Server, ServerRequestContext

from benchmarks.table.upstream import path_of

SCHEMA = {"type": "object", "properties": {"guest": {"type": "string"}, "id": {"type": "integer"}}}
TOOLS = [types.Tool(name=name, input_schema=SCHEMA) for name in ("list_bookings", "get_booking")]


class Tools:
    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    async def listed(self, _: ServerRequestContext[Any], __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=TOOLS)

    async def called(self, _: ServerRequestContext[Any], call: types.CallToolRequestParams) -> types.CallToolResult:
        self._session = self._session or aiohttp.ClientSession(self._upstream)
        path, query = path_of(call.name, call.arguments or {})
        async with self._session.get(path, params=query) as response:
            text = await response.text()
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


if __name__ == "__main__":
    tools = Tools(sys.argv[1])
    server: Server[Any] = Server("sdk", on_list_tools=tools.listed, on_call_tool=tools.called)
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
