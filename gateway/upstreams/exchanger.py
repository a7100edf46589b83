"""Sends a request with its credentials and follows redirects. Each exchange is checked against the allowed addresses
and logged."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from gateway.upstreams import addresses, redirects, wire
from gateway.upstreams.addresses import Allowed
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.exchanges import Authentication, Request, Response
from gateway.upstreams.failures import Failures
from gateway.upstreams.messages import without
from gateway.upstreams.network import Dropped, Unsent
from gateway.upstreams.quotas import quota_left
from gateway.upstreams.wire import Limits

logger = logging.getLogger("gateway.upstreams")


class Exchanger:
    """Exchanges of one upstream. `quota_left`: the remaining requests that it last reported."""

    def __init__(
        self, name: str, authentication: Authentication, limits: Limits, trusted: Sequence[str], failures: Failures
    ) -> None:
        self._name, self._authentication, self._limits, self._failures = name, authentication, limits, failures
        self._trusted = frozenset(addresses.origin(addresses.split(each)) for each in trusted)
        self.quota_left: int | None = None

    async def send(self, request: Request, attempt: int) -> Response:
        """The answer, of any status. Raises UpstreamError."""
        response = await self._follow(request, attempt)
        if response.status in (401, 403) and await self._authentication.renewed(response, self._unauthenticated):
            response = await self._follow(request, attempt)
        return response

    async def _follow(self, request: Request, attempt: int) -> Response:
        async def hop(request: Request, at_home: bool) -> Response:
            ready = await self._authentication.apply(request, self._unauthenticated) if at_home else request
            return await self._exchange(ready, attempt)

        return await redirects.follow(request, hop, self._failures, self._authentication.secrets)

    async def _unauthenticated(self, request: Request) -> Response:
        """Sends a request without credentials, in order to fetch them."""

        async def hop(request: Request, at_home: bool) -> Response:
            return await self._exchange(request, 1)

        return await redirects.follow(request, hop, self._failures, self._authentication.secrets)

    async def _exchange(self, request: Request, attempt: int) -> Response:
        """Sends and logs one exchange. A reused connection may turn out closed; the request is then sent again within
        the same attempt."""
        allowed = self._allowed(request)
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
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            self._log(request, attempt, outcome=outcome, status=status, ms=milliseconds)

    async def _sent(self, request: Request, allowed: Allowed) -> Response:
        send = partial(wire.send, request, allowed=allowed, limits=self._limits, failures=self._failures)
        try:
            return await send()
        except Unsent:
            pass
        except Dropped:
            if not request.may_be_repeated:
                raise self._failures.unreachable() from None
        try:
            return await send()
        except Dropped:
            raise self._failures.unreachable() from None

    def _allowed(self, request: Request) -> Allowed:
        try:
            origin = addresses.origin(addresses.split(request.url))
        except AddressRefused:
            raise self._failures.address() from None
        allowed = addresses.allowed()
        return replace(allowed, private=True) if origin in self._trusted else allowed

    def _log(self, request: Request, attempt: int, **figures: str | float) -> None:
        """One line for each exchange (N-FR-011): never headers, query or body."""
        path = without(urlsplit(request.url).path, [*self._authentication.secrets, *request.secrets])
        logger.info(
            "exchange",
            extra={"upstream": self._name, "method": request.method, "path": path, "attempt": attempt, **figures},
        )
