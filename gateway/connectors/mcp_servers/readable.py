"""Makes results readable that break MCP's schema in one place. The SDK would refuse them whole: a list of tools for one
invalid tool, an answer for one invalid block."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse
from mcp_types import methods

from gateway.connectors.mcp_servers.stream_wrappers import ReceiveWrapper

REVISION = "2025-11-25"  # of the schema of tools and blocks; MCP 2026-07-28 accepts all that it accepts
BESIDE_CONTENT = frozenset({"annotations", "_meta", "icons"})  # fields of a block that no model reads
Document = Mapping[str, Any]


@asynccontextmanager
async def readable(streams: AbstractAsyncContextManager[tuple[Any, Any]]) -> AsyncIterator[tuple[Any, Any]]:
    """The same streams, with readable results."""
    async with streams as (received, sent):
        yield _Readable(received), sent


class _Readable(ReceiveWrapper):
    async def passed(self, item: Any) -> Any:
        return _with_readable_result(item)


def _with_readable_result(item: Any) -> Any:
    if not (isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse)):
        return item
    result = readable_result(item.message.result)
    if result is item.message.result:
        return item
    return replace(item, message=item.message.model_copy(update={"result": result}))


def readable_result(result: dict[str, Any]) -> dict[str, Any]:
    """The same result if it is readable, or if it cannot be made so."""
    if isinstance(tools := result.get("tools"), list):
        is_readable = _is_valid("tools/list", {"tools": tools})
        return result if is_readable else {**result, "tools": [each for tool in tools for each in _readable_tool(tool)]}
    if "content" in result or "structuredContent" in result:
        return _readable_answer(result)
    return result


def _is_valid(method: str, result: Document) -> bool:
    with suppress(ValueError, RecursionError):
        methods.validate_server_result(method, REVISION, result)
        return True
    return False


# -- Tools ------------------------------------------------------------------------------------------


def _readable_tool(tool: Any) -> Iterator[dict[str, Any]]:
    """The tool with its valid fields; nothing if it has no name."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return
    schema = tool.get("inputSchema")
    kept = {"name": tool["name"], "inputSchema": {**(schema if isinstance(schema, dict) else {}), "type": "object"}}
    if not _is_valid("tools/list", {"tools": [kept]}):
        kept["inputSchema"] = {"type": "object"}
    for name, value in tool.items():
        if name not in kept and _is_valid("tools/list", {"tools": [{**kept, name: value}]}):
            kept[name] = value
    yield kept


# -- Answers of tools -------------------------------------------------------------------------------


def _readable_answer(result: dict[str, Any]) -> dict[str, Any]:
    content, structured = result.get("content"), result.get("structuredContent")
    changed: dict[str, Any] = {}
    if content is None and structured is not None:
        changed["content"] = []
    elif isinstance(content, list) and not all(map(_is_readable, content)):
        changed["content"] = [each if _is_readable(each) else _readable_block(each) for each in content]
    if "resultType" not in result and structured is not None and not isinstance(structured, dict):
        changed["structuredContent"] = {"result": structured}  # only MCP 2026-07-28 has other values than objects
    if "isError" in result and result["isError"] is None:
        changed["isError"] = False
    return {**result, **changed} if changed else result


def _is_readable(block: Any) -> bool:
    if isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text":
        return isinstance(block["text"], str)
    return _is_valid("tools/call", {"content": [block]})


def _readable_block(block: Any) -> dict[str, Any]:
    """The block without the fields beside its content if these are invalid, else its JSON as a text."""
    if isinstance(block, dict):
        content = {name: value for name, value in block.items() if name not in BESIDE_CONTENT}
        if _is_readable(content):
            return content
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
