"""MCP over stdio: one client, whose key comes from the environment (SLUICE_API_KEY)."""

from mcp.server.stdio import stdio_server

from gateway.access.callers import Caller
from gateway.connectors import connectors
from gateway.mcp.changes import Changes
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.mcp.sessions import Sessions
from gateway.mcp.tools import fingerprint
from gateway.upstreams.clients import close


async def serve_stdio(caller: Caller) -> None:
    """Serves until stdin closes. Nothing but MCP is written to stdout."""
    peer = Peer(caller, "stdio", session="stdio")
    changes = Changes(Sessions(), fingerprint, peer)
    server = build_server(peer, changes)
    every = connectors()
    for start in (each.start for each in every if each.start):
        await start()
    await changes.start()
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await changes.stop()
        for stop in (each.stop for each in every if each.stop):
            await stop()
        await close()
