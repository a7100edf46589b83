"""python -m tests.conformance.front URL: an address without a key, in front of a server that wants one.

The key is taken from SLUICE_API_KEY. Says its port in a line when it listens. To an http URL requests are handed on as
they come; a ws URL is spoken to over WebSocket, while the front speaks Streamable HTTP (bridge.py). The front's own
name in Host and Origin becomes the server's; any other name is handed on, for the server to judge.
"""

import argparse
import os
import socket
import sys
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import uvicorn
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.conformance.bridge import Bridge
from tests.conformance.target import OF_THE_CONNECTION, Target


class Front:
    """Hands requests on, and answers back while they come."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.client = httpx2.AsyncClient(timeout=None, trust_env=False)  # the suites have timeouts of their own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = await self._answer(request)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        url, query = self.target.url, request.url.query
        sent = self.client.build_request(
            request.method,
            f"{url.scheme}://{url.netloc}{request.url.path}{'?' + query if query else ''}",
            headers=self.target.headers(request),
            content=await request.body(),
        )
        got = await self.client.send(sent, stream=True)
        answer = StreamingResponse(_body(got), status_code=got.status_code)
        answer.raw_headers = [
            (name.lower(), value) for name, value in got.headers.raw if name.lower().decode() not in OF_THE_CONNECTION
        ]
        return answer


async def _body(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for part in answer.aiter_raw():
            yield part
    finally:
        await answer.aclose()


def front_of(target: Target) -> ASGIApp:
    return Bridge(target) if target.url.scheme in {"ws", "wss"} else Front(target)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.conformance.front")
    parser.add_argument("url", help="the endpoint behind, http or ws")
    url = urlsplit(parser.parse_args().url)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    target = Target(url, os.environ["SLUICE_API_KEY"], f"127.0.0.1:{port}")
    config = uvicorn.Config(front_of(target), lifespan="off", log_level="warning", access_log=False)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
