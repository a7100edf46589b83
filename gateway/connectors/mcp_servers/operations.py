"""A server's tools as our operations."""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import mcp.types as types

from context_protection.core.json_values import written
from context_protection.core.policy import Kind
from gateway.catalog.caller import Caller
from gateway.catalog.operation import NativeResult, Operation
from gateway.connectors.mcp_servers import answers, errors
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.names import LONGEST_NAME, named
from gateway.connectors.mcp_servers.results import ToolResult
from gateway.connectors.mcp_servers.sanitizer import cleaned
from gateway.connectors.mcp_servers.schemas import parameters
from gateway.connectors.mcp_servers.sessions import sessions
from gateway.dispatch.client import client
from gateway.dispatch.progress import listener

logger = logging.getLogger(__name__)

DESCRIPTION, TITLE = 1000, 100  # characters
TASK_ONLY = "Cannot be called here: its server runs it only as a task, which Sluice does not support. "
ROWS = ("where", "search", "limit", "cursor", "fields", "format")  # arguments that callers can add for a read-only tool


def operations(server: Server, tools: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations for the tools of a tools/list result in JSON. Equal lists give identical objects."""
    return tuple(by_tool(server, tools).values())


def by_tool(
    server: Server, tools: Sequence[Mapping[str, Any]], names: Mapping[str, str] | None = None
) -> dict[str, Operation]:
    """Maps the tools' own names to their operations. A tool that cannot be read is left out. `names`: our names by the
    tools' own; None if no other server's tools count."""
    own = own_names(tools)
    ours = names or dict(zip(own, named(server.name, own), strict=True))
    found = (_read(server, ours[name], tool) for name, tool in zip(own, tools, strict=True))
    return {name: operation for name, operation in zip(own, found, strict=True) if operation is not None}


def own_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(tool.get("name", "")) for tool in tools]


def _read(server: Server, name: str, tool: Mapping[str, Any]) -> Operation | None:
    """None if the tool cannot be read, so that it does not affect the server's other tools."""
    try:
        return _operation(server, name, written(tool))
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__  # the message may repeat what the server has sent
        logger.warning(
            "MCP server's tool cannot be offered", extra={"server": server.name, "tool": name, "error": kind}
        )
        return None


@lru_cache(maxsize=4096)
def _operation(server: Server, name: str, document: bytes) -> Operation:
    tool = types.Tool.model_validate_json(document)
    reads_only = bool(tool.annotations and tool.annotations.read_only_hint)
    taken = parameters(tool.input_schema)
    title = tool.title or (tool.annotations.title if tool.annotations else None) or tool.name
    needs_task = bool(tool.execution and tool.execution.task_support == "required")
    description = f"{TASK_ONLY if needs_task else ''}{tool.description or title}"

    async def fetch(arguments: Mapping[str, Any], caller: Caller) -> NativeResult:
        if needs_task:
            raise errors.runs_only_as_task(server)
        result = await sessions.call(server, tool.name, taken.sent(arguments), listener.get())
        return ToolResult(server, result, over_mcp=client.get() is not None, visibility=caller.visibility(name))

    return Operation(
        name=name,
        title=cleaned(title, TITLE),
        description=cleaned(description, DESCRIPTION),
        kind=Kind.LIST if reads_only else Kind.ACTION,
        parameters=taken.schemas,
        required=taken.required,
        form=ROWS if reads_only else None,
        fills_pages=answers.SHAPE.fills_pages,
        shape=answers.SHAPE,
        fetch=fetch,
        called_once=True,
        asks=True,
        destructive=_hint(tool, "destructive_hint"),
        idempotent=_hint(tool, "idempotent_hint"),
        endpoint=f"/api/v1/tools/{name}",
        tags=(server.name, cleaned(tool.name, LONGEST_NAME)),
    )


def _hint(tool: types.Tool, name: str) -> bool | None:
    return getattr(tool.annotations, name) if tool.annotations else None


def documents(tools: Sequence[types.Tool]) -> list[dict[str, Any]]:
    """A tool list in its stored form: sorted by name, each tool once, with the fields that operations are made from."""
    stored_fields = {"name", "title", "description", "input_schema", "annotations", "execution"}
    by_name = {tool.name: tool for tool in tools if tool.name}
    return [
        by_name[name].model_dump(mode="json", by_alias=True, exclude_none=True, include=stored_fields)
        for name in sorted(by_name)
    ]
