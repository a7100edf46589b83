"""A client of one request over Streamable HTTP, on an ASGI connection without a server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.mcp.http import StreamableHTTP
from gateway.mcp.server import build_server
from gateway.mcp.sessions import Sessions
from tests.patience import PATIENCE

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream", "host": "testserver"}


class Client:
    """One HTTP request on an ASGI connection. `sent`: what the server has sent of its response."""

    def __init__(self, key: str, body: Any, **headers: str) -> None:
        fields = {**HEADERS, "authorization": f"Bearer {key}", **headers}
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        }
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.events.put_nowait({"type": "http.request", "body": content, "more_body": False})
        self.sent: list[dict[str, Any]] = []
        self.something = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self.something.set()

    def leaves(self) -> None:
        self.events.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def kind(self) -> str:
        headers: dict[bytes, bytes] = dict(self.sent[0]["headers"])
        return headers.get(b"content-type", b"").decode()

    @property
    def content(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Those of a stream, in order."""
        lines = self.content.decode().split("\r\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


@asynccontextmanager
async def asking(client: Client) -> AsyncIterator["asyncio.Task[None]"]:
    door = StreamableHTTP(build_server(), Sessions(), stateless=True)
    task = asyncio.create_task(door(client.scope, client.events.get, client.send))
    try:
        yield task
        await asyncio.wait_for(task, PATIENCE)
    finally:
        task.cancel()
        await door.stop()


async def answered(client: Client) -> Client:
    async with asking(client):
        pass
    return client
