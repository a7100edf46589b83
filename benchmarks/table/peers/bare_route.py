"""A bare ASGI route: fetches from the upstream and passes the bytes on. This is the least that a server can do.

python -m benchmarks.table.peers.bare_route UPSTREAM PORT
"""

import sys
from typing import Any

import aiohttp
import uvicorn

HEADERS = [(b"content-type", b"application/json")]


class BareRoute:
    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self._session = self._session or aiohttp.ClientSession(self._upstream)
        address = f"{scope['path']}?{scope['query_string'].decode()}"
        async with self._session.get(address) as response:
            body = await response.read()
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    uvicorn.run(
        BareRoute(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", lifespan="off"
    )  # fmt: skip
