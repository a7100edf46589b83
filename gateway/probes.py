"""/healthz and /readyz, which need none of Django's threads: they answer while all of those are taken."""

import asyncio
from typing import Any

from context_protection.budget import dumps
from gateway import pages
from gateway.mcp.admission import not_allowed
from gateway.process.bridge import run_sync

READY_SECONDS = 3.0  # for the database to answer; who asks waits for four (docker/compose.yml)


async def healthz(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Whether the process lives."""
    await _answer(scope, send, {"status": "ok"})


async def readyz(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Whether calls can be answered now: 200, or 503."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            document = await run_sync(pages.readiness)
    except TimeoutError:
        document = {"status": "down", "database": False}
    await _answer(scope, send, document)


async def _answer(scope: dict[str, Any], send: Any, document: Any) -> None:
    if scope["method"] not in {"GET", "HEAD"}:
        await not_allowed(send, "GET, HEAD")
        return
    body = dumps(document)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    status = 200 if document["status"] == "ok" else 503
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
