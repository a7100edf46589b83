"""Sends a request with its credentials and follows redirects. Each exchange is checked against the allowed addresses
and logged.

Redirects follow the Fetch standard but are stricter: every hop is checked like a first request, and no body, credential
or private header is sent to another origin.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import quote, urljoin

from gateway.upstreams import addresses, exchange_metrics
from gateway.upstreams.addresses import AllowedAddresses, Location, locate
from gateway.upstreams.auth.authentication import Authentication
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.failures import UpstreamFailures, without
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.quota import quota_left
from gateway.upstreams.request import Request, Response
from gateway.upstreams.usage import upstream_use
from telemetry import log_lines

logger = logging.getLogger("gateway.upstreams")

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
MAX_HOPS = 5
CROSS_ORIGIN_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
BODY_HEADERS = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
RESERVED_CHARACTERS = "%:/?#[]@!$&'()*+,;=~"

Hop = Callable[[Request, bool], Awaitable[Response]]


class Exchanger:
    """Exchanges with one upstream. `quota_left`: the number of remaining requests that the upstream last reported."""

    def __init__(
        self,
        name: str,
        authentication: Authentication,
        limits: CallLimits,
        trusted: Sequence[str],
        failures: UpstreamFailures,
    ) -> None:
        self._name, self._authentication, self._limits, self._failures = name, authentication, limits, failures
        self._trusted = frozenset(locate(each).origin.text for each in trusted)
        self.quota_left: int | None = None

    async def send(self, request: Request, attempt: int) -> Response:
        """The answer, of any status. Raises UpstreamError."""
        response = await self._follow(request, attempt)
        if response.status in (401, 403) and await self._authentication.renewed(response, self._unauthenticated):
            response = await self._follow(request, attempt)
        return response

    async def _follow(self, request: Request, attempt: int) -> Response:
        async def hop(request: Request, same_origin: bool) -> Response:
            ready = await self._authentication.apply(request, self._unauthenticated) if same_origin else request
            return await self._exchange(ready, attempt)

        return await follow(request, hop, self._failures, self._authentication.secrets)

    async def _unauthenticated(self, request: Request) -> Response:
        """Sends a request without credentials, in order to fetch them."""

        async def hop(request: Request, same_origin: bool) -> Response:
            return await self._exchange(request, 1)

        return await follow(request, hop, self._failures, self._authentication.secrets)

    async def _exchange(self, request: Request, attempt: int) -> Response:
        """Sends and logs one exchange. If a reused connection turns out to be closed, a request that may be repeated is
        sent again within the same attempt."""
        location = self._located(request)
        allowed = addresses.allowed()
        if location.origin.text in self._trusted:
            allowed = addresses.with_private(allowed)
        started, outcome, status = time.perf_counter(), "stopped", 0
        try:
            response = await self._sent(request, allowed)
            outcome, status = "answered", response.status
            self.quota_left = quota_left(response.headers, self.quota_left)
            return response
        except UpstreamError as error:
            outcome = error.reason
            raise
        finally:
            seconds = time.perf_counter() - started
            upstream_use().note_attempt(status, seconds)
            exchange_metrics.count(self._name, outcome, status, seconds)
            if logger.isEnabledFor(logging.INFO):
                ms = round(seconds * 1000, 1)
                self._log(request, location, attempt=attempt, outcome=outcome, status=status, ms=ms)

    async def _sent(self, request: Request, allowed: AllowedAddresses) -> Response:
        from gateway.upstreams import transport  # aiohttp takes 8 MB

        send = partial(transport.send, request, allowed=allowed, limits=self._limits, failures=self._failures)
        try:
            return await send()
        except transport.Dropped:
            if not request.may_be_repeated:
                raise self._failures.unreachable() from None
        try:
            return await send()
        except transport.Dropped:
            raise self._failures.unreachable() from None

    def _located(self, request: Request) -> Location:
        try:
            return locate(request.url)
        except AddressRefused:
            raise self._failures.address() from None

    def _log(self, request: Request, location: Location, **figures: str | float) -> None:
        """Logs one line for each exchange (N-FR-011), never its headers, query or body."""
        path = without(location.target.partition("?")[0], [*self._authentication.secrets, *request.secrets])
        fields = {"upstream": self._name, "method": request.method, "path": path, **figures}
        log_lines.info(logger, "exchange", fields)


async def close_connections() -> None:
    """Closes the connections of the running loop. To be called after the last exchange."""
    from gateway.upstreams import pool  # aiohttp takes 8 MB

    await pool.close_connections()


async def follow(request: Request, hop: Hop, failures: UpstreamFailures, secrets: Sequence[str]) -> Response:
    """Sends the request and follows redirects. `hop(request, same_origin)` sends one request; it adds credentials only
    while the origin has never changed. Raises UpstreamError."""
    same_origin = True
    for _ in range(MAX_HOPS + 1):
        response = await hop(request, same_origin)
        if response.status not in REDIRECT_STATUSES:
            return response
        if "location" not in response.headers:
            raise failures.garbled("a redirect without an address")
        following = _following(request, response, failures, secrets)
        same_origin = same_origin and _has_same_origin(following, request)
        request = following
    raise failures.redirected(f"more than {MAX_HOPS} times")


def _following(request: Request, response: Response, failures: UpstreamFailures, secrets: Sequence[str]) -> Request:
    url = _target(request, response, failures)
    following = replace(request, url=url)
    if _becomes_get(request.method, response.status):
        headers = {name: value for name, value in request.headers.items() if name.lower() not in BODY_HEADERS}
        following = replace(following, method="GET", body=b"", headers=headers)
    if _has_same_origin(following, request):
        return following
    if following.body:
        raise failures.redirected("a request with a body to another origin")
    if any(secret in url or quote(secret, safe="") in url for secret in secrets if secret):
        raise failures.redirected("to another origin with credentials in the address")
    headers = {name: value for name, value in following.headers.items() if name.lower() in CROSS_ORIGIN_HEADERS}
    return replace(following, headers=headers)


def _target(request: Request, response: Response, failures: UpstreamFailures) -> str:
    try:
        url = urljoin(request.url, response.headers["location"].partition("#")[0].strip())
        url = quote(url, safe=RESERVED_CHARACTERS)
        scheme = locate(url).origin.scheme
    except (ValueError, AddressRefused):
        raise failures.redirected("to an invalid web address") from None
    if locate(request.url).origin.scheme == "https" and scheme == "http":
        raise failures.redirected("from https to http")
    return url


def _becomes_get(method: str, status: int) -> bool:
    return (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD"))


def _has_same_origin(one: Request, other: Request) -> bool:
    return locate(one.url).origin.text == locate(other.url).origin.text
