"""The servers and their tools, cached in this process until something changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from context_protection.configuration.live import Live
from gateway.access.former_names import former_names, with_former
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import HttpServer, Server, from_file, last_valid
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList
from gateway.connectors.mcp_servers.names import named
from gateway.connectors.mcp_servers.tool_rows import is_on_at_first


@dataclass(frozen=True, eq=False)
class StoredServers:
    """The stored part of the configuration: the addresses from the admin, and the last tool list of each server."""

    addresses: tuple[HttpServer, ...]
    tools: Mapping[str, Sequence[Mapping[str, Any]]]
    all_on: frozenset[str] = frozenset()  # servers whose tools are all on at first
    switched: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)  # server → tool → whether it is on
    former: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # operation's name → its former names


def _load() -> StoredServers:
    rows = McpServer.objects.filter(enabled=True)
    switched: dict[str, dict[str, bool]] = {}
    for server, name, enabled in McpTool.objects.values_list("server", "name", "enabled"):
        switched.setdefault(server, {})[name] = enabled
    return StoredServers(
        tuple(row.address() for row in rows),
        dict(ToolList.objects.values_list("server", "tools")),
        frozenset(ToolList.objects.filter(all_on=True).values_list("server", flat=True)),
        switched,
        former_names(),
    )


_stored: Live[StoredServers] = Live(_load)


def servers() -> tuple[Server, ...]:
    """All servers, sorted by name. A server in the file takes precedence over one of the same name in the admin. A file
    that has become invalid keeps its last valid content. Blocks. Raises ImproperlyConfigured for a file that was never
    valid."""
    return _servers(last_valid(settings.MCP_SERVERS_FILE), _stored.get())


def problem_of_file() -> str:
    """Why the file's present content is not used; "" if it is. Blocks."""
    try:
        from_file(settings.MCP_SERVERS_FILE)
    except ImproperlyConfigured as error:
        return str(error)
    return ""


def operations() -> tuple[Operation, ...]:
    """The tools of all servers as operations: identical objects until something changes. An unavailable server keeps
    its last tools, and a file that has become invalid keeps its last valid content. Blocks. Raises ImproperlyConfigured
    for a file that was never valid."""
    return _operations(last_valid(settings.MCP_SERVERS_FILE), _stored.fresh())


@lru_cache(maxsize=4)
def _servers(of_file: tuple[Server, ...], stored: StoredServers) -> tuple[Server, ...]:
    by_name: dict[str, Server] = {server.name: server for server in (*stored.addresses, *of_file)}
    return tuple(by_name[name] for name in sorted(by_name))


@lru_cache(maxsize=4)
def _operations(of_file: tuple[Server, ...], stored: StoredServers) -> tuple[Operation, ...]:
    names = _tool_names(of_file, stored)
    return tuple(
        operation
        for server in _servers(of_file, stored)
        for operation in _operations_of(server, stored, names[server.name])
    )


def _operations_of(server: Server, stored: StoredServers, names: Mapping[str, str]) -> Iterator[Operation]:
    listed = stored.tools.get(server.name, ())
    for name, operation in tools.by_tool(server, listed, names).items():
        if _is_on(server, name, listed, stored):
            yield with_former(operation, stored.former.get(operation.name, ()))


def tool_names() -> Mapping[str, Mapping[str, str]]:
    """Our names for all tools of all servers, on or off: server → the tool's own name → ours. A tool keeps its name
    when another is switched on or off. Blocks. Raises the errors of `operations`."""
    return _tool_names(last_valid(settings.MCP_SERVERS_FILE), _stored.fresh())


def names_of(server: str, listed: Sequence[str], *, instead_of: str) -> list[str]:
    """Our names for the `listed` tools, in their order, if `server` offered them, and there were no `instead_of`.
    Blocks. Raises the errors of `operations`."""
    stored = _stored.fresh()
    others = {each.name for each in _servers(last_valid(settings.MCP_SERVERS_FILE), stored)} - {instead_of}
    own = {name: tools.own_names(stored.tools.get(name, ())) for name in others} | {server: listed}
    names = _named_in_turn(own)[server]
    return [names[tool] for tool in listed]


@lru_cache(maxsize=4)
def _tool_names(of_file: tuple[Server, ...], stored: StoredServers) -> Mapping[str, Mapping[str, str]]:
    names = (server.name for server in _servers(of_file, stored))
    return _named_in_turn({name: tools.own_names(stored.tools.get(name, ())) for name in names})


def _named_in_turn(listed: Mapping[str, Sequence[str]]) -> Mapping[str, Mapping[str, str]]:
    """`listed`: by server, the own names of its tools. The first server in alphabetical order chooses first."""
    taken = {operation.name for operation in catalogue if not _is_ours(operation)}
    names: dict[str, Mapping[str, str]] = {}
    for server in sorted(listed):
        names[server] = dict(zip(listed[server], named(server, listed[server], taken), strict=True))
        taken.update(names[server].values())
    return names


def _is_on(server: Server, name: str, listed: Sequence[Mapping[str, Any]], stored: StoredServers) -> bool:
    switched = stored.switched.get(server.name, {})
    if name in switched:
        return switched[name]
    tool = next(each for each in listed if each.get("name") == name)
    return is_on_at_first(server, tool, all_on=server.name in stored.all_on)


def _is_ours(operation: Operation) -> bool:
    """Whether an earlier load of this connector added it to the catalogue, so that its name may be reused."""
    return operation.fetch.__module__ == tools.__name__
