"""Somebody else's MCP server whose answers hold secrets: PLANTED of the environment, a JSON object, in every form.

As a child: `python -m tests.simulators.planted_server` speaks MCP on stdin and stdout.
"""

import json
import os
import sys
from typing import Any

import anyio
import mcp.types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any]
PLANTED: dict[str, Any] = json.loads(os.environ["PLANTED"])
WORDS = "\n\n".join(value for value in PLANTED.values() if isinstance(value, str) and " " in value)


def _text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


RESOURCE = types.TextResourceContents(uri="file:///manual.txt", mime_type="text/plain", text=WORDS)
ANSWERS = {
    "record": types.CallToolResult(content=[_text(json.dumps(PLANTED))]),
    "rows": types.CallToolResult(content=[_text(json.dumps([{**PLANTED, "id": number} for number in range(60)]))]),
    "structured": types.CallToolResult(content=[_text(json.dumps(PLANTED))], structured_content=PLANTED),
    "words": types.CallToolResult(content=[_text(WORDS * 20)]),
    "resource": types.CallToolResult(content=[types.EmbeddedResource(type="resource", resource=RESOURCE)]),
    "blocks": types.CallToolResult(content=[_text("See below."), _text(WORDS), _text(json.dumps(PLANTED))]),
    "error": types.CallToolResult(content=[_text(WORDS)], is_error=True),
    "refused": None,
}


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    reads = types.ToolAnnotations(read_only_hint=True)
    schema = {"type": "object", "properties": {}}
    tools = [types.Tool(name=name, input_schema=schema, description=name, annotations=reads) for name in ANSWERS]
    return types.ListToolsResult(tools=tools)


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    sys.stderr.write(f"{WORDS}\n")  # a server's log goes to ours
    sys.stderr.flush()
    answer = ANSWERS[params.name]
    if answer is None:
        raise MCPError(code=types.INVALID_PARAMS, message=WORDS)
    return answer


async def main() -> None:
    server: Server[Any] = Server("planted", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
