"""The tools of each server as rows that ops switch on and off. `is_on_at_first` decides which tools are on until
then."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gateway.catalog.definition_size import definition_tokens
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import LONGEST_TOOL_NAME, McpServer, McpTool
from gateway.connectors.mcp_servers.names import named
from gateway.connectors.switch_rows import SwitchRow

Tools = Sequence[Mapping[str, Any]]
WRITTEN = ("description", "tokens", "reads_only", "enabled", "is_gone")


def reads_only(tool: Mapping[str, Any]) -> bool:
    hints = tool.get("annotations")
    return isinstance(hints, Mapping) and hints.get("readOnlyHint") is True


def runs_only_as_task(tool: Mapping[str, Any]) -> bool:
    """Whether its server rejects plain calls of the tool (taskSupport: required)."""
    execution = tool.get("execution")
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def is_on_at_first(server: Server, tool: Mapping[str, Any], *, all_on: bool) -> bool:
    """`all_on`: every tool is on, because the server was added before tools had to be switched on. A tool that cannot
    be called is off even then."""
    if runs_only_as_task(tool):
        return False
    name = str(tool.get("name", ""))
    return all_on or reads_only(tool) or any(fnmatchcase(name, pattern) for pattern in server.allow)


def update(server: Server, tools: Tools, operations: Mapping[str, Operation], *, all_on: bool) -> bool:
    """Stores the server's tools, and returns whether anything has changed. A tool that ops staff have switched on or
    off stays so. `operations`: by the tool's own name."""
    stored = {row.name: row for row in McpTool.objects.filter(server=server.name)}
    listed = {name: tool for tool in tools if len(name := str(tool.get("name", ""))) <= LONGEST_TOOL_NAME}
    new: list[McpTool] = []
    changed: list[McpTool] = []
    for name, tool in listed.items():
        row = stored.get(name) or McpTool(server=server.name, name=name)
        is_on = row.enabled if row.is_chosen else is_on_at_first(server, tool, all_on=all_on)
        if _set_fields(row, tool, operations.get(name), is_on=is_on):
            (new if row.pk is None else changed).append(row)
    for row in stored.values():
        if row.name not in listed and not row.is_gone:
            row.is_gone = True
            changed.append(row)
    McpTool.objects.bulk_create(new, batch_size=200)
    McpTool.objects.bulk_update(changed, WRITTEN, batch_size=200)
    return bool(new or changed)


def _set_fields(row: McpTool, tool: Mapping[str, Any], operation: Operation | None, *, is_on: bool) -> bool:
    """Returns whether the row is new or anything has changed."""
    before = [getattr(row, field) for field in WRITTEN]
    row.description = operation.description if operation else ""
    row.tokens = definition_tokens(operation) if operation else 0
    row.reads_only, row.enabled, row.is_gone = reads_only(tool), is_on, False
    return row.pk is None or before != [getattr(row, field) for field in WRITTEN]


def switch_rows() -> list[SwitchRow]:
    """The rows of all servers, with the names that clients see. Queries the database."""
    rows: dict[str, list[McpTool]] = {}
    for row in McpTool.objects.filter(is_gone=False).order_by("server", "name"):
        rows.setdefault(row.server, []).append(row)
    off = set(McpServer.objects.filter(enabled=False).values_list("name", flat=True))
    return [
        SwitchRow(
            name,
            row.reads_only,
            row.tokens,
            row,
            has_effect=server not in off,
        )
        for server, own in rows.items()
        for row, name in zip(own, named(server, [row.name for row in own]), strict=True)
    ]
