"""The servers and their tools as this process knows them: cached until something changes."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from context_protection.configuration.live import Live
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import Address, Server, from_file
from gateway.connectors.mcp_servers.models import McpServer, ToolList

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Stored:
    """The stored part of the configuration: the addresses from the admin, and the last tool list of each server."""

    addresses: tuple[Address, ...]
    tools: Mapping[str, Sequence[Mapping[str, Any]]]


def _load() -> Stored:
    rows = McpServer.objects.filter(enabled=True)
    return Stored(
        tuple(Address(row.name, row.url, connection=row.connection()) for row in rows),
        dict(ToolList.objects.values_list("server", "tools")),
    )


_stored: Live[Stored] = Live(_load)


def servers() -> tuple[Server, ...]:
    """All servers, sorted by name. A server in the file wins over one of the same name in the admin. Blocks. Raises
    ImproperlyConfigured."""
    return _servers(from_file(settings.MCP_SERVERS_FILE), _stored.get())


def operations() -> tuple[Operation, ...]:
    """The tools of all servers as operations: the identical objects until something changes. A server that is away
    keeps its last tools, and a file that has become invalid its last valid content. Blocks. Raises
    ImproperlyConfigured for a file that is invalid from the start."""
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
def _servers(of_file: tuple[Server, ...], stored: Stored) -> tuple[Server, ...]:
    by_name: dict[str, Server] = {server.name: server for server in (*stored.addresses, *of_file)}
    return tuple(by_name[name] for name in sorted(by_name))


@lru_cache(maxsize=4)
def _operations(of_file: tuple[Server, ...], stored: Stored) -> tuple[Operation, ...]:
    servers = _servers(of_file, stored)
    found: list[Operation] = []
    taken = {operation.name for operation in catalogue if not _is_ours(operation)}
    for server in servers:
        own = _operations_of(server, stored, taken)
        found += own
        taken |= {operation.name for operation in own}
    return tuple(found)


def _operations_of(server: Server, stored: Stored, taken: Collection[str]) -> tuple[Operation, ...]:
    """Empty if the stored list cannot be read, so that one server's bad list does not cost the others their tools."""
    try:
        return tools.operations(server, stored.tools.get(server.name, ()), taken)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__  # the message may repeat what the server has sent
        logger.warning("MCP server's tools cannot be offered", extra={"server": server.name, "error": kind})
        return ()


def _is_ours(operation: Operation) -> bool:
    """Whether the catalogue has it from an earlier load of this connector, so that its name may be used again."""
    return operation.fetch.__module__ == tools.__name__
