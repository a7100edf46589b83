"""What asks the simulator: plainly, over real HTTP."""

from dataclasses import dataclass, field
from typing import TypeVar

import httpx2

from gateway.upstreams.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from gateway.upstreams.request import Read, Request, Response
from tests.patience import PATIENCE
from tests.tls import TLS

T = TypeVar("T")


@dataclass
class PlainFetching:
    """Keeps what came with 2xx, as long as it is not told to forget."""

    kept: dict[tuple[str, str, bytes], Response] = field(default_factory=dict)

    async def fetch_and_read(
        self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
    ) -> tuple[Response, T]:
        key = (request.method, request.url, request.body)
        if key not in self.kept:
            response = await _asked(request)
            content = await read(response)
            if cache_seconds:
                self.kept[key] = response
            return response, content
        return self.kept[key], await read(self.kept[key])


async def _asked(request: Request) -> Response:
    headers, body = dict(request.headers), request.body or None
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, verify=TLS) as client:
            got = await client.request(request.method, request.url, headers=headers, content=body)
    except httpx2.TransportError:
        raise UpstreamUnavailable("NSIP cannot be reached.", reason="upstream_unreachable", retry_after=5) from None
    if got.status_code >= 400:
        raise _refused(got.status_code, got.headers.get("retry-after"))
    return Response(got.status_code, dict(got.headers), got.content)


def _refused(status: int, retry_after: str | None) -> UpstreamError:
    if status == 429 or status >= 500:
        seconds = int(retry_after) if retry_after else None
        return UpstreamUnavailable("NSIP is busy.", reason="upstream_busy", retry_after=seconds)
    return UpstreamRefused("NSIP does not want to.", reason="upstream_refused", upstream={"status": status})
