"""Probes: /healthz, /readyz and, with a key, /metrics.

They do not wait for Django's threads, so they answer while all of those are busy. /healthz and /readyz also need no
other thread and no store. Any Host is accepted, because monitoring calls each process by its own address.
"""

from typing import Any

from django.conf import settings

from context_protection.core.budget import dumps
from context_protection.core.errors import CallError
from gateway.access.callers import identify
from gateway.access.handshake import Handshake, send_error
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.mcp.admission import Endpoint, not_allowed
from gateway.pages.sums import server_metrics
from gateway.pages.visitors import has_key
from gateway.process.readiness import readiness
from gateway.threads.bridge import run_sync

SAFE = {"GET", "HEAD"}


async def healthz(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Whether the process is alive."""
    await _answer(scope, send, {"status": "ok"})


async def readyz(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Whether calls can be answered now: 200 or 503."""
    await _answer(scope, send, readiness.document())


def metrics(otherwise: Endpoint) -> Endpoint:
    """Answers /metrics for requests with a key; without one if PUBLIC_PAGES is set. `otherwise` answers all other
    requests."""

    async def endpoint(scope: dict[str, Any], receive: Any, send: Any) -> None:
        authorization = Handshake.of(scope).get("authorization")
        is_public = settings.PUBLIC_PAGES
        if scope["method"] not in SAFE or not (is_public or has_key(authorization)):
            await otherwise(scope, receive, send)
            return
        try:
            if not is_public:
                await identify(authorization, Visit.of(scope, Transport.PAGE))
        except CallError as error:
            await send_error(send, error)
            return
        body, content_type = await run_sync(server_metrics)
        await _send(send, 200, body, content_type)

    return endpoint


async def _answer(scope: dict[str, Any], send: Any, document: Any) -> None:
    if scope["method"] not in SAFE:
        await not_allowed(send, "GET, HEAD")
        return
    await _send(send, 200 if document["status"] == "ok" else 503, dumps(document), "application/json")


async def _send(send: Any, status: int, body: bytes, content_type: str) -> None:
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
