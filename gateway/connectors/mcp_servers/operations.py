"""A server's tools as our operations."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import mcp.types as types

from context_protection.core.json_values import written
from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers import answers, errors
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.sanitizer import cleaned
from gateway.connectors.mcp_servers.schemas import parameters
from gateway.connectors.mcp_servers.sessions import sessions
from gateway.dispatch.progress import listener
from gateway.threads.bridge import run_sync

LONGEST_NAME = 64
DESCRIPTION, TITLE = 1000, 100  # characters
ROWS = ("where", "limit", "cursor", "fields")  # what callers can add to the arguments of a tool that only reads
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def operations(
    server: Server, tools: Sequence[Mapping[str, Any]], taken: Collection[str] = ()
) -> tuple[Operation, ...]:
    """The operations for the tools of a tools/list result, as JSON. The same list gives the identical objects. No name
    in `taken` is used. Raises TypeError or ValueError if it is not a list of tools."""
    names = named(server.name, [str(tool.get("name", "")) for tool in tools], taken)
    return tuple(_operation(server, name, written(tool)) for name, tool in zip(names, tools, strict=True))


def named(server: str, tools: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Our names for the tools, in their order: `<server>_<tool>`, unique, at most 64 legal characters. A name that is
    too long or in use ends in a hash instead."""
    names: dict[str, str] = {}
    for tool in sorted(
        tools, key=lambda tool: (bool(_ILLEGAL.search(tool)), tool)
    ):  # names that need no change come first
        name = f"{server}_{_ILLEGAL.sub('_', tool)}"
        if len(name) > LONGEST_NAME or name in taken or name in names.values():
            ending = hashlib.sha256(f"{server} {tool}".encode()).hexdigest()[:8]
            name = f"{name[: LONGEST_NAME - 9]}_{ending}"
        names[tool] = name
    return [names[tool] for tool in tools]


@lru_cache(maxsize=4096)
def _operation(server: Server, name: str, document: bytes) -> Operation:
    tool = types.Tool.model_validate_json(document)
    reads_only = bool(tool.annotations and tool.annotations.read_only_hint)
    taken = parameters(tool.input_schema)
    title = tool.title or (tool.annotations.title if tool.annotations else None) or tool.name

    async def fetch(arguments: Mapping[str, Any], caller: Caller) -> Payload:
        result = await sessions.call(server, tool.name, taken.sent(arguments), listener.get())
        if result.is_error:
            raise errors.refused_by_tool(server, result)
        return await run_sync(answers.payload, result, arguments.get("where"))

    return Operation(
        name=name,
        title=cleaned(title, TITLE),
        description=cleaned(tool.description or title, DESCRIPTION),
        kind=Kind.LIST if reads_only else Kind.ACTION,
        parameters=taken.schemas,
        required=taken.required,
        form=ROWS if reads_only else None,
        fetch=fetch,
        called_once=True,
        destructive=_hint(tool, "destructive_hint"),
        idempotent=_hint(tool, "idempotent_hint"),
        endpoint=f"/api/v1/tools/{name}",
        tags=(server.name, cleaned(tool.name, LONGEST_NAME)),
    )


def _hint(tool: types.Tool, name: str) -> bool | None:
    return getattr(tool.annotations, name) if tool.annotations else None


def documents(tools: Sequence[types.Tool]) -> list[dict[str, Any]]:
    """A tool list as it is stored: sorted by name, each tool once, with the fields that operations are made from."""
    stored_fields = {"name", "title", "description", "input_schema", "annotations"}
    by_name = {tool.name: tool for tool in tools if tool.name}
    return [
        by_name[name].model_dump(mode="json", by_alias=True, exclude_none=True, include=stored_fields)
        for name in sorted(by_name)
    ]
