"""Probes of servers at HTTP addresses: each requests the server's tools. Commands have no probes, as they run as
children of the processes that call them: a probe from another process would only test a new child."""

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
