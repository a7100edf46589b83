"""The way of one call at its plainest: a token, one exchange, errors by status. No rates, no repetitions."""

from urllib.parse import urlsplit

import httpx2

from gateway.upstreams.errors import UpstreamGarbled, UpstreamRefused, UpstreamTooSlow, UpstreamUnavailable
from gateway.upstreams.request import Request, Response
from tests.simulators.hostaway import ACCOUNT_ID, SECRET
from tests.tls import TLS

FORM = {
    "grant_type": "client_credentials",
    "client_id": ACCOUNT_ID,
    "client_secret": SECRET,
    "scope": "general",
}


class PlainFetching:
    """Renews its token once when it is refused with 403."""

    def __init__(self, base_url: str, seconds: float = 5.0) -> None:
        self.base_url, self.seconds = base_url, seconds
        self.token = ""

    async def fetch(self, request: Request, *, cache_seconds: float = 0.0, scope: str = "") -> Response:
        assert urlsplit(request.url).netloc == urlsplit(self.base_url).netloc
        try:
            async with httpx2.AsyncClient(timeout=self.seconds, verify=TLS) as client:
                answer = await self._sent(client, request)
                if answer.status_code == 403:
                    self.token = ""
                    answer = await self._sent(client, request)
        except httpx2.TimeoutException:
            raise UpstreamTooSlow("Hostaway took too long.", reason="upstream_timeout") from None
        except httpx2.TransportError:
            raise UpstreamUnavailable("Hostaway cannot be reached.", reason="upstream_unreachable") from None
        return _judged(Response(answer.status_code, dict(answer.headers), answer.content))

    async def _sent(self, client: httpx2.AsyncClient, request: Request) -> httpx2.Response:
        if not self.token:
            issued = (await client.post(f"{self.base_url}/accessTokens", data=FORM)).json()
            self.token = (issued.get("result") or issued)["access_token"]
        headers = {**request.headers, "Authorization": f"Bearer {self.token}"}
        return await client.request(request.method, request.url, headers=headers)


def _judged(response: Response) -> Response:
    said = {"status": response.status}
    if response.status == 429:
        raise UpstreamUnavailable("Hostaway is busy.", reason="upstream_busy", upstream=said)
    if response.status >= 500:
        raise UpstreamUnavailable("Hostaway failed.", reason="upstream_failed", upstream=said)
    if response.status >= 400:
        reason = "upstream_credentials" if response.status in (401, 403) else "upstream_refused"
        raise UpstreamRefused("Hostaway refused.", reason=reason, upstream=said)
    if response.media_type == "text/html":
        raise UpstreamGarbled("Hostaway sent a page.", reason="upstream_garbled")
    return response
