"""MCP's two streams over a WebSocket, for the SDK's client, which has no such transport."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import websockets
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from websockets.typing import Subprotocol

LARGEST_MESSAGE = 16 * 1024 * 1024  # bytes


@asynccontextmanager
async def websocket_client(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """A transport for `mcp.Client`."""
    connection = websockets.connect(
        url,
        subprotocols=[Subprotocol("mcp")],
        additional_headers=dict(headers),
        max_size=LARGEST_MESSAGE,
        proxy=None,
    )
    async with connection as socket, anyio.create_task_group() as tasks:
        to_client, incoming = anyio.create_memory_object_stream[Any](64)
        outgoing, from_client = anyio.create_memory_object_stream[Any](64)

        async def read() -> None:
            async with to_client:
                with suppress(websockets.ConnectionClosed):
                    async for frame in socket:
                        await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(frame)))

        async def write() -> None:
            async with from_client:
                async for message in from_client:
                    await socket.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        tasks.start_soon(read)
        tasks.start_soon(write)
        async with incoming, outgoing:
            yield incoming, outgoing
        tasks.cancel_scope.cancel()
