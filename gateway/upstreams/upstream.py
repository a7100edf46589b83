"""The path of one call to an upstream, from outside in: response cache, in-flight calls, attempts, breaker and rate
limit, credentials, redirects, one exchange."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

from context_protection.breaker import Breaker, State
from gateway.upstreams import cache
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamGarbled,
    UpstreamTooSlow,
    UpstreamUnavailable,
)
from gateway.upstreams.exchanger import Exchanger
from gateway.upstreams.exchanges import NO_AUTHENTICATION, Accept, Authentication, Request, Response
from gateway.upstreams.failures import Failures
from gateway.upstreams.flights import Flights
from gateway.upstreams.rates import Rate, Rates
from gateway.upstreams.retries import Retries
from gateway.upstreams.wire import LIMITS, Limits

FORGIVEN = (UpstreamUnavailable, UpstreamTooSlow, UpstreamGarbled)  # a stale cached answer is better than these

# Which errors count as failure or success for the breaker. Any other reason says nothing: upstream was not reached.
ILL = frozenset({"upstream_unreachable", "upstream_timeout", "upstream_failed", "upstream_garbled"})
WELL = frozenset(
    {"upstream_refused", "upstream_credentials", "upstream_busy", "upstream_too_large", "upstream_redirect"}
)
# Errors that the request caused, so the health page does not report them as failures of the upstream.
OF_THE_REQUEST = frozenset(
    {"upstream_refused", "upstream_too_large", "upstream_request", "upstream_rate", "upstream_crowded"}
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Clock, sleep and randomness, which tests replace. `clock` is monotonic."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


TIMING = Timing()


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """The state that the health page shows. Times are Unix seconds. `rate_left`: exchanges that may be sent at once, by
    the configured rate, or else by the quota that upstream last reported. `hit_rate`: of cacheable calls, 0 to 1."""

    name: str
    breaker: State
    last_success_at: float | None
    last_failure_at: float | None
    last_failure: str
    rate_left: int | None
    calls: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


class Lane:
    """The in-flight calls and the concurrency limit of one upstream in one event loop."""

    def __init__(self, concurrent: int) -> None:
        self.flights: Flights[Response] = Flights()
        self.places = asyncio.Semaphore(concurrent)


class Upstream:
    """One object per API and process. `trusted`: origins ("http://127.0.0.1:9000") that the deployer has set in the
    environment; their addresses may be private. `authentication` adds credentials only while redirects stay on the
    origin of the request."""

    def __init__(
        self,
        name: str,
        *,
        authentication: Authentication = NO_AUTHENTICATION,
        limits: Limits = LIMITS,
        trusted: frozenset[str] = frozenset(),
        rates: Sequence[Rate] = (),
        timing: Timing = TIMING,
    ) -> None:
        self.name, self.limits = name, limits
        self._timing = timing
        self._failures = Failures(name, authentication)
        self._exchanger = Exchanger(name, authentication, limits, tuple(trusted), self._failures)
        self._breaker = Breaker(timing.clock)
        self._retries = Retries(limits.attempts, timing.clock, timing.chance)
        self._rates = Rates(name, rates, timing.clock, timing.sleep)
        self._kept = cache.Kept(timing.clock)
        self._lanes_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()
        self._calls = self._hits = self._misses = 0
        self._succeeded_at: float | None = None
        self._failed_at: float | None = None
        self._failure = ""

    async def fetch(
        self, request: Request, *, keep_seconds: float = 0.0, scope: str = "", accept: Accept | None = None
    ) -> Response:
        """The answer, of status 2xx. With `keep_seconds` (the cache lifetime) it may come from the cache: a fresh one,
        or a stale one (`stale`) if upstream does not answer. `scope` separates cached answers: the caller's id if
        they depend on the caller. Raises UpstreamError, and nothing else."""
        self._calls += 1
        if not request.may_be_repeated:
            return await self._attempts(request, accept)
        key = cache.key_of(request, scope)
        known = self._kept.find(key) if keep_seconds > 0 else None
        if known is not None and self._kept.is_fresh(known):
            self._hits += 1
            return known
        self._misses += keep_seconds > 0
        start = partial(self._refreshed, request, key, known, keep_seconds, accept)
        return await self._lane.flights.join((key, keep_seconds), start)

    def state(self) -> UpstreamState:
        left = self._rates.left
        return UpstreamState(
            name=self.name,
            breaker=self._breaker.state,
            last_success_at=self._succeeded_at,
            last_failure_at=self._failed_at,
            last_failure=self._failure,
            rate_left=self._exchanger.quota_left if left is None else left,
            calls=self._calls,
            hits=self._hits,
            misses=self._misses,
        )

    def forget(self) -> None:
        """Clears the response cache."""
        self._kept.clear()

    # -- Response cache ---------------------------------------------------------------------------------

    async def _refreshed(
        self, request: Request, key: Hashable, known: Response | None, keep_seconds: float, accept: Accept | None
    ) -> Response:
        try:
            response = await self._attempts(cache.conditional(request, known), accept)
        except FORGIVEN:
            if known is None:
                raise
            return replace(known, stale=True)
        if response.status == 304:
            if known is None:
                raise self._failures.garbled("unchanged since nothing")
            response = replace(known, as_of=response.as_of)
        if keep_seconds <= 0:
            return response
        return replace(self._kept.keep(key, replace(response, content=None), keep_seconds), content=response.content)

    # -- Attempts ---------------------------------------------------------------------------------------

    async def _attempts(self, request: Request, accept: Accept | None) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.limits.total_seconds
        self._retries.budget.note_call()
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return await self._attempt(request, accept, attempt, deadline)
            except UpstreamError as error:
                if not request.may_be_repeated or self._breaker.state == "open":
                    raise
                pause = self._retries.pause(error, attempt, deadline - loop.time())
                if pause is None:
                    raise
            await self._timing.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, request: Request, accept: Accept | None, attempt: int, deadline: float) -> Response:
        resting = self._breaker.enter()
        if resting:
            raise self._failures.resting(resting)
        try:
            response = await self._send_before(request, attempt, deadline)
            if accept is not None and response.status != 304:
                response = await accept(response)
        except UpstreamError as error:
            self._record_error(error)
            raise
        except BaseException:
            self._breaker.abandoned()
            raise
        self._breaker.succeeded()
        self._succeeded_at = time.time()
        return response

    def _record_error(self, error: UpstreamError) -> None:
        if error.reason in WELL:
            self._breaker.succeeded()
        elif error.reason in ILL or isinstance(error, UpstreamGarbled):
            self._breaker.failed()
        else:
            self._breaker.abandoned()
        if error.reason not in OF_THE_REQUEST:
            self._failed_at, self._failure = time.time(), error.reason

    async def _send_before(self, request: Request, attempt: int, deadline: float) -> Response:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline):
                seconds = await self._rates.enter(deadline - loop.time())
                if seconds:
                    raise self._failures.limited(seconds)
                async with self._lane.places:
                    response = await self._exchanger.send(request, attempt)
        except TimeoutError:
            raise self._failures.too_slow(self.limits.total_seconds) from None
        error = self._failures.hiding(request.secrets).of_status(response)
        if error is not None:
            raise error
        return response

    @property
    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes_by_loop.get(loop)
        if lane is None:
            lane = self._lanes_by_loop[loop] = Lane(self.limits.concurrent)
        return lane
