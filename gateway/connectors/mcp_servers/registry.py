"""The servers and their tools, cached in this process until something changes."""

import logging
from collections.abc import Collection, Mapping, Sequence
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
from gateway.connectors.mcp_servers.configuration import HttpServer, Server, from_file
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList
from gateway.connectors.mcp_servers.tool_rows import is_on_at_first

logger = logging.getLogger(__name__)


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
    """All servers, sorted by name. A server in the file takes precedence over one of the same name in the admin.
    Blocks. Raises ImproperlyConfigured."""
    return _servers(from_file(settings.MCP_SERVERS_FILE), _stored.get())


def operations() -> tuple[Operation, ...]:
    """The tools of all servers as operations: identical objects until something changes. An unavailable server keeps
    its last tools, and a file that has become invalid keeps its last valid content. Blocks. Raises ImproperlyConfigured
    for a file that was never valid."""
    return _operations(_last_good(settings.MCP_SERVERS_FILE), _stored.fresh())


_last_valid: dict[str, tuple[Server, ...]] = {}  # last valid content of each file


def _last_good(path: str) -> tuple[Server, ...]:
    try:
        _last_valid[path] = from_file(path)
    except ImproperlyConfigured:  # `servers`, which is called regularly, reports it
        if path not in _last_valid:
            raise
    return _last_valid[path]


@lru_cache(maxsize=4)
def _servers(of_file: tuple[Server, ...], stored: StoredServers) -> tuple[Server, ...]:
    by_name: dict[str, Server] = {server.name: server for server in (*stored.addresses, *of_file)}
    return tuple(by_name[name] for name in sorted(by_name))


@lru_cache(maxsize=4)
def _operations(of_file: tuple[Server, ...], stored: StoredServers) -> tuple[Operation, ...]:
    servers = _servers(of_file, stored)
    found: list[Operation] = []
    taken = {operation.name for operation in catalogue if not _is_ours(operation)}
    for server in servers:
        own = _operations_of(server, stored, taken)
        found += own
        taken |= {operation.name for operation in own}
    return tuple(found)


def _operations_of(server: Server, stored: StoredServers, taken: Collection[str]) -> tuple[Operation, ...]:
    """Empty if the stored list cannot be read, so that one server's bad list does not affect the other servers."""
    try:
        listed = stored.tools.get(server.name, ())
        every = tools.by_tool(server, listed, taken)
        on = [every[name] for name in every if _is_on(server, name, listed, stored)]
        return tuple(with_former(each, stored.former.get(each.name, ())) for each in on)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__  # the message may repeat what the server has sent
        logger.warning("MCP server's tools cannot be offered", extra={"server": server.name, "error": kind})
        return ()


def _is_on(server: Server, name: str, listed: Sequence[Mapping[str, Any]], stored: StoredServers) -> bool:
    switched = stored.switched.get(server.name, {})
    if name in switched:
        return switched[name]
    tool = next(each for each in listed if each.get("name") == name)
    return is_on_at_first(server, tool, all_on=server.name in stored.all_on)


def _is_ours(operation: Operation) -> bool:
    """Whether an earlier load of this connector added it to the catalogue, so that its name may be reused."""
    return operation.fetch.__module__ == tools.__name__
