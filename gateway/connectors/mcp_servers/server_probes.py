"""Asks a server behind an address for its tools. A command runs as a child of the processes that call it; a probe from
elsewhere would start another one, and say nothing of theirs."""

from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.connectors.mcp_servers.registry import servers
from gateway.connectors.mcp_servers.sessions import sessions
from gateway.upstreams.probes import Probe


def probes() -> list[Probe]:
    """Blocks. Raises ImproperlyConfigured."""
    return [_probe(each) for each in servers() if isinstance(each, HttpServer)]


def _probe(server: HttpServer) -> Probe:
    async def ask() -> int:
        await sessions.tools(server)
        return 0

    return Probe(server.name, ask)
