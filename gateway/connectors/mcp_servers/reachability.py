"""The test that staff start: opens a new connection to a server, and reads its tools."""

import asyncio
import time

from gateway.connectors.mcp_servers import errors
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.sessions import ServerSessions
from gateway.connectors.reachability import Reachability
from gateway.upstreams.errors import UpstreamError

PATIENCE = 20.0  # seconds


async def try_server(server: Server) -> Reachability:
    sessions, began, name = ServerSessions(), time.perf_counter(), f"MCP server {server.name}"

    def elapsed() -> int:
        return round((time.perf_counter() - began) * 1000)

    try:
        async with asyncio.timeout(PATIENCE):
            tools = await sessions.tools(server)
        return Reachability(name, elapsed(), f"{len(tools):,} tools")
    except UpstreamError as error:
        return Reachability(name, elapsed(), failure=error.message)
    except TimeoutError:
        return Reachability(name, elapsed(), failure=errors.too_slow(server).message)
    finally:
        await sessions.end()
