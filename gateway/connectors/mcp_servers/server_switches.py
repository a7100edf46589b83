"""The switches of the servers' tools, with the names that clients see."""

from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured

from gateway.connectors.mcp_servers import registry
from gateway.connectors.mcp_servers.models import McpTool
from gateway.connectors.mcp_servers.names import named
from gateway.connectors.switch_rows import SwitchRow


def switch_rows() -> list[SwitchRow]:
    """A row for each tool of each server. The tools of a server that is off have no effect, and take the name of no
    other tool. Queries the database."""
    rows: dict[str, list[McpTool]] = {}
    for row in McpTool.objects.filter(is_gone=False).order_by("server", "name"):
        rows.setdefault(row.server, []).append(row)
    offered = _offered()
    taken = {name for names in offered.values() for name in names.values()}
    switches: list[SwitchRow] = []
    for server, own in rows.items():
        names = offered.get(server, {})
        others = [row.name for row in own if row.name not in names]
        names = {**names, **dict(zip(others, named(server, others, taken), strict=True))}
        taken.update(names.values())
        switches += [
            SwitchRow(names[row.name], row.reads_only, row.tokens, row, has_effect=server in offered) for row in own
        ]
    return switches


def _offered() -> Mapping[str, Mapping[str, str]]:
    """The names of the tools of each server that is on. None, if the file of servers is invalid."""
    try:
        return registry.tool_names()
    except ImproperlyConfigured:
        return {}
