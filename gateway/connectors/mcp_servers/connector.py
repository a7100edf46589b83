"""Offers the tools of other MCP servers as operations, with Sluice's protection.

The SDK's client is imported on first use, so that commands that call no server start a second sooner.
"""

from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.connectors.switch_rows import SwitchRow
from gateway.upstreams.probes import Probe

NAME = "mcp_servers"


def operations() -> tuple[Operation, ...]:
    from gateway.connectors.mcp_servers import registry

    return registry.operations()


def probes() -> list[Probe]:
    from gateway.connectors.mcp_servers.server_probes import probes

    return probes()


def switches() -> list[SwitchRow]:
    from gateway.connectors.mcp_servers.server_switches import switch_rows

    return switch_rows()


async def start() -> None:
    from gateway.connectors.mcp_servers.first_server import first_server

    await first_server.start()


async def stop() -> None:
    from gateway.connectors.mcp_servers.first_server import first_server

    await first_server.stop()


CONNECTOR = Connector(name=NAME, source=operations, probes=probes, switches=switches, start=start, stop=stop)
