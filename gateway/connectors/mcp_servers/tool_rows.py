"""The tools of each server as rows that ops switch on and off. `is_on_at_first` decides which tools are on until
then."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from gateway.catalog.definition_size import definition_tokens
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import LONGEST_TOOL_NAME, McpTool

Tools = Sequence[Mapping[str, Any]]
WRITTEN = ("description", "tokens", "reads_only", "enabled", "is_gone")
AT_ONCE = 200  # rows in one statement


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
    off stays so. The history has each state of the other switches, for rollbacks. `operations`: by the tool's own
    name."""
    stored = {row.name: row for row in McpTool.objects.filter(server=server.name)}
    listed = {name: tool for tool in tools if len(name := str(tool.get("name", ""))) <= LONGEST_TOOL_NAME}
    was_on = {name: row.enabled for name, row in stored.items()}
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
    bulk_create_with_history(new, McpTool, batch_size=AT_ONCE)
    switched = [row for row in changed if row.enabled != was_on[row.name]]
    bulk_update_with_history(switched, McpTool, WRITTEN, batch_size=AT_ONCE)
    others = [row for row in changed if row.enabled == was_on[row.name]]
    McpTool.objects.bulk_update(others, WRITTEN, batch_size=AT_ONCE)
    return bool(new or changed)


def _set_fields(row: McpTool, tool: Mapping[str, Any], operation: Operation | None, *, is_on: bool) -> bool:
    """Returns whether the row is new or anything has changed."""
    before = [getattr(row, field) for field in WRITTEN]
    row.description = operation.description if operation else ""
    row.tokens = definition_tokens(operation) if operation else 0
    row.reads_only, row.enabled, row.is_gone = reads_only(tool), is_on, False
    return row.pk is None or before != [getattr(row, field) for field in WRITTEN]
