"""The servers and their tools as this process knows them: read once, and again when something has changed."""

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
    """What the database has: the addresses of the admin, and the last tool list of each server."""

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
    """All of them, by name. One of the file goes before one of the admin. Blocks. Raises ImproperlyConfigured."""
    return _servers(from_file(settings.MCP_SERVERS_FILE), _stored.get())


def operations() -> tuple[Operation, ...]:
    """What can be called of them: the same objects for as long as nothing has changed. Of a server that is away, what
    it had last; and of a file that has become odd, what it said before. Blocks. Raises ImproperlyConfigured for a file
    that is odd from the start."""
    return _operations(_last_good(settings.MCP_SERVERS_FILE), _stored.fresh())


_good: dict[str, tuple[Server, ...]] = {}  # what each file said last


def _last_good(path: str) -> tuple[Server, ...]:
    try:
        _good[path] = from_file(path)
    except ImproperlyConfigured:  # `servers`, which is asked regularly, says so
        if path not in _good:
            raise
    return _good[path]


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
    """None where the list that is kept cannot be read: what one server has said costs no other its tools."""
    try:
        return tools.operations(server, stored.tools.get(server.name, ()), taken)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__  # its words may repeat what a stranger has sent
        logger.warning("MCP server's tools cannot be offered", extra={"server": server.name, "error": kind})
        return ()


def _is_ours(operation: Operation) -> bool:
    """Whether it is one of an earlier time, whose name may be used again."""
    return operation.fetch.__module__ == tools.__name__
