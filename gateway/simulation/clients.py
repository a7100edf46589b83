"""The invented clients, and how each of them calls: REST, or MCP with the official SDK over HTTP or WebSocket."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation, TextContent

from gateway.simulation.allowance import Allowance
from gateway.simulation.websocket import websocket_client

TIMEOUT = 60.0  # seconds per call

Document = dict[str, Any]
Send = Callable[[str, Mapping[str, Any]], Awaitable[Document]]  # (tool, arguments) → the answer


@dataclass(frozen=True)
class SimulatedClient:
    """`mode`: how the SDK's client opens its session: "legacy" (initialize) or "auto" (server/discover)."""

    name: str
    version: str
    connect: Callable[["SimulatedClient", str, str], AbstractAsyncContextManager[Send]]  # (client, base URL, key)
    mode: str = "auto"


class SimulatedConnection:
    """One client's connection. Every call takes one from the shared allowance, and is followed by a pause."""

    def __init__(self, send: Send, allowance: Allowance, chance: random.Random, clients: int) -> None:
        self._send, self._allowance, self.chance, self._clients = send, allowance, chance, clients

    async def ask(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Document:
        """The answer, or the document of an error. Raises Finished."""
        self._allowance.take()
        answer = await self._send(tool, arguments or {})
        self._allowance.failed += "error" in answer
        await asyncio.sleep(self._allowance.pause(self._clients) * self.chance.uniform(0.5, 1.5))
        return answer

    async def walk(self, tool: str, arguments: Mapping[str, Any], pages: int) -> Document:
        """Follows the cursor for at most `pages` pages; returns the last one."""
        answer = await self.ask(tool, arguments)
        for _ in range(pages - 1):
            if "nextCursor" not in answer:
                break
            answer = await self.ask(tool, {**arguments, "cursor": answer["nextCursor"]})
        return answer


@asynccontextmanager
async def rest(client: SimulatedClient, base: str, key: str) -> AsyncIterator[Send]:
    headers = {**_bearer(key), "User-Agent": f"{client.name}/{client.version}"}
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=TIMEOUT, trust_env=False) as http:

        async def send(tool: str, arguments: Mapping[str, Any]) -> Document:
            response = await http.post(f"/api/v1/tools/{tool}", json=dict(arguments))
            return _document(response.content)

        yield send


@asynccontextmanager
async def over_http(client: SimulatedClient, base: str, key: str) -> AsyncIterator[Send]:
    headers = {**_bearer(key), "User-Agent": f"{client.name}/{client.version}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=False) as http,
        _session(client, streamable_http_client(f"{base}/mcp", http_client=http)) as send,
    ):
        yield send


@asynccontextmanager
async def over_websocket(client: SimulatedClient, base: str, key: str) -> AsyncIterator[Send]:
    transport = websocket_client(f"{base.replace('http', 'ws', 1)}/mcp/ws", _bearer(key))
    async with _session(client, transport) as send:
        yield send


@asynccontextmanager
async def _session(client: SimulatedClient, transport: Any) -> AsyncIterator[Send]:
    """An MCP session that reads the tool list first, as real clients do."""
    information = Implementation(name=client.name, version=client.version)
    async with Client(
        transport, client_info=information, mode=client.mode, read_timeout_seconds=TIMEOUT, cache=None
    ) as mcp:
        await mcp.list_tools()

        async def send(tool: str, arguments: Mapping[str, Any]) -> Document:
            try:
                result = await mcp.call_tool(tool, dict(arguments))
            except MCPError as error:
                return {"error": {"message": error.error.message}}
            text = next((each.text for each in result.content if isinstance(each, TextContent)), "{}")
            return _document(text)

        yield send


def _document(body: str | bytes) -> Document:
    answer = orjson.loads(body)
    return answer if isinstance(answer, dict) else {"answer": answer}


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
