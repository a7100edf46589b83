"""The layers of one call to an upstream, from the outside in: response cache, in-flight calls, attempts, breaker and
rate limit, credentials, redirects, one exchange."""

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from context_protection.breaker import Breaker, State
from gateway.upstreams import breaker_events, shared_breakers
from gateway.upstreams.auth.authentication import NO_AUTHENTICATION, Authentication
from gateway.upstreams.cache import InFlightCalls, UpstreamCache, cache_key, conditional
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamGarbled,
    UpstreamTooSlow,
    UpstreamUnavailable,
)
from gateway.upstreams.exchange import Exchanger
from gateway.upstreams.failures import UpstreamFailures, given_up
from gateway.upstreams.limits import DEFAULT_LIMITS, CallLimits, Rate, Rates, Retries
from gateway.upstreams.request import Read, Request, Response
from gateway.upstreams.shared_breakers import BreakerOutcome
from gateway.upstreams.usage import UpstreamUse, upstream_use

T = TypeVar("T")

STALE_INSTEAD_OF = (UpstreamUnavailable, UpstreamTooSlow, UpstreamGarbled)  # a stale cached answer replaces these

SHORTEST_PAUSE = 0.001  # seconds; a shorter wait for a rate limit is not recorded
# Reasons of errors that the breaker counts as failures or successes. Any other UpstreamGarbled is also a failure. The
# breaker ignores all other errors, because they say nothing about the upstream.
FAILURE_REASONS = frozenset({"upstream_unreachable", "upstream_timeout", "upstream_failed", "upstream_garbled"})
SUCCESS_REASONS = frozenset(
    {"upstream_refused", "upstream_credentials", "upstream_busy", "upstream_too_large", "upstream_redirect"}
)
# Errors that the request caused, so the health page does not report them as failures of the upstream.
REQUEST_REASONS = frozenset(
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
    """The state that the health page shows. Times are Unix seconds. `rate_left`: exchanges that may be sent at once
    under the configured rate, or else under the quota that the upstream last reported. `hit_rate`: the share of
    cacheable calls that were answered from the cache, 0 to 1."""

    name: str
    breaker: State
    last_success_at: float | None
    last_failure_at: float | None
    last_failure: str
    rate_left: int | None
    calls: int = 0
    hits: int = 0
    misses: int = 0
    connector: str = ""
    rate_limit: int | None = None
    next_try_seconds: float = 0.0  # while the breaker is open

    @property
    def is_down(self) -> bool:
        """Whether it has failed several times in a row, and has not answered since."""
        return self.breaker != "closed"

    @property
    def hit_rate(self) -> float:
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


@dataclass(frozen=True, slots=True)
class CallLimit:
    """`deadline`: on the event loop's clock. `wait_seconds`: how long all requests of the call together may wait for
    rate limits and between attempts."""

    deadline: float
    wait_seconds: float
    use: UpstreamUse

    def patience(self, now: float) -> float:
        """The seconds for which the call may still wait."""
        return max(0.0, min(self.deadline - now, self.wait_seconds - self.use.paused_seconds))


@dataclass(frozen=True, slots=True)
class Received:
    """`content`: what `read` returned. Both are None if the response comes from the cache."""

    response: Response
    read: Read[Any] | None = None
    content: Any = None


class LoopState:
    """The in-flight calls and the concurrency limit of one upstream in one event loop."""

    def __init__(self, concurrent: int) -> None:
        self.in_flight: InFlightCalls[Received] = InFlightCalls()
        self.concurrency = asyncio.Semaphore(concurrent)


class Upstream:
    """One object per API and process. `trusted`: origins ("http://127.0.0.1:9000") that the deployer has set in the
    environment; their addresses may be private. `authentication` adds credentials only while redirects stay on the
    origin of the request."""

    def __init__(
        self,
        name: str,
        *,
        authentication: Authentication = NO_AUTHENTICATION,
        limits: CallLimits = DEFAULT_LIMITS,
        trusted: frozenset[str] = frozenset(),
        rates: Sequence[Rate] = (),
        timing: Timing = TIMING,
        connector: str = "",
    ) -> None:
        self.name, self.limits, self.connector = name, limits, connector or name
        self._authentication, self._trusted = authentication, trusted
        self._timing = timing
        self._failures = UpstreamFailures(name, authentication)
        self._exchanger = Exchanger(name, authentication, limits, tuple(trusted), self._failures)
        self._breaker = Breaker(timing.clock)
        self._is_dropped = False
        self._reporting = threading.RLock()  # so that an upstream is dropped either before or after a report
        self._retries = Retries(limits.attempts, timing.clock, timing.chance)
        self._rates, self._has_rates = Rates(name, rates, timing.clock, timing.sleep), bool(rates)
        self._cache = UpstreamCache(timing.clock, most_answers=limits.most_answers)
        self._states_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopState] = WeakKeyDictionary()
        self._calls = self._hits = self._misses = 0
        self._succeeded_at: float | None = None
        self._failed_at: float | None = None
        self._failure = ""

    async def fetch(self, request: Request, *, cache_seconds: float = 0.0, scope: str = "") -> Response:
        """Returns an answer with status 2xx. With `cache_seconds` (the cache lifetime) it may be a cached one, or a
        stale one (`stale`) if the upstream fails. `scope` separates cached answers: the caller's id if they
        depend on the caller. Raises only UpstreamError."""
        return (await self._received(request, None, cache_seconds, scope)).response

    async def fetch_and_read(
        self, request: Request, read: Read[T], *, cache_seconds: float = 0.0, scope: str = ""
    ) -> tuple[Response, T]:
        """The answer and its content. Cached answers are read again."""
        received = await self._received(request, read, cache_seconds, scope)
        response = received.response
        return response, received.content if received.read == read else await read(response)

    async def _received(self, request: Request, read: Read[Any] | None, cache_seconds: float, scope: str) -> Received:
        self._calls += 1
        if not request.may_be_repeated:
            with upstream_use().waiting_for(self.name):
                return await self._refreshed(request, None, None, 0.0, read)
        key = cache_key(request, scope)
        known = self._cache.find(key) if cache_seconds > 0 else None
        if known is not None and self._cache.is_fresh(known):
            self._hits += 1
            return Received(known)
        self._misses += cache_seconds > 0
        start = partial(self._refreshed, request, key, known, cache_seconds, read)
        with upstream_use().waiting_for(self.name):
            return await self._loop_state.in_flight.join((key, cache_seconds), start)

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
            connector=self.connector,
            rate_limit=self._rates.capacity.get("limit"),
            next_try_seconds=self._breaker.seconds_left,
        )

    def for_probe(self, seconds: float) -> "Upstream":
        """The same upstream for one request outside all counts: without retries, rates, or the shared breaker."""
        limits = replace(self.limits, attempts=1, total_seconds=min(seconds, self.limits.total_seconds))
        return Upstream(
            self.name,
            authentication=self._authentication,
            limits=limits,
            trusted=self._trusted,
            timing=self._timing,
            connector=self.connector,
        )

    def share_breaker(self) -> None:
        """From now on, the breaker counts the calls of all processes."""
        shared_breakers.join(self.name, self._breaker)

    def drop(self) -> None:
        """The upstream is replaced or removed. Its calls in flight finish, but its breaker reports nothing any more."""
        with self._reporting:
            self._is_dropped = True
            shared_breakers.leave(self.name, self._breaker)
            if self._breaker.state != "closed":
                breaker_events.dropped(self.name)

    def forget(self) -> None:
        """Clears the response cache."""
        self._cache.clear()

    # -- Response cache ---------------------------------------------------------------------------------

    async def _refreshed(
        self, request: Request, key: Hashable, known: Response | None, cache_seconds: float, read: Read[Any] | None
    ) -> Received:
        try:
            response, content = await self._attempts(conditional(request, known), read)
        except STALE_INSTEAD_OF:
            if known is None:
                raise
            return Received(replace(known, stale=True))
        if response.status == 304:
            if known is None:
                raise self._failures.garbled("status 304 to a request without conditions")
            response, read = replace(known, as_of=response.as_of), None
        if cache_seconds > 0:
            response = self._cache.store(key, response, cache_seconds)
        return Received(response, read, content)

    # -- Attempts ---------------------------------------------------------------------------------------

    async def _attempts(self, request: Request, read: Read[Any] | None) -> tuple[Response, Any]:
        loop = asyncio.get_running_loop()
        limit = CallLimit(loop.time() + self.limits.total_seconds, self.limits.wait_seconds, upstream_use())
        self._retries.budget.note_call()
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return await self._attempt(request, read, attempt, limit)
            except UpstreamError as error:
                pause = self._pause(request, error, attempt, limit.patience(loop.time()))
                if pause is None:
                    raise given_up(error, self._rates.capacity) from None
            limit.use.paused_seconds += pause  # at once, because the call's other requests may wait only for the rest
            await self._timing.sleep(pause)
            limit.use.note_pause(pause)
        raise AssertionError("the last attempt returns or raises")

    def _pause(self, request: Request, error: UpstreamError, attempt: int, patience: float) -> float | None:
        if not request.may_be_repeated or self._breaker.state == "open":
            return None
        return self._retries.pause(error, attempt, patience)

    async def _attempt(
        self, request: Request, read: Read[Any] | None, attempt: int, limit: CallLimit
    ) -> tuple[Response, Any]:
        cooldown = self._breaker.enter()
        if cooldown:
            raise self._failures.cooling_down(cooldown)
        if self._breaker.is_trying:
            self._tell(BreakerOutcome.TRYING)
        try:
            response = await self._send_within(request, attempt, limit)
            content = await read(response) if read is not None and response.status != 304 else None
        except UpstreamError as error:
            self._record_error(error)
            raise
        except BaseException:
            self._abandon()
            raise
        self._succeed()
        self._succeeded_at = time.time()
        return response, content

    def _record_error(self, error: UpstreamError) -> None:
        with self._reporting:
            was_closed = self._breaker.state == "closed"
            self._count(error)
            if was_closed and self._breaker.state != "closed" and not self._is_dropped:
                breaker_events.opened(self.name, error.reason)

    def _count(self, error: UpstreamError) -> None:
        if error.reason in SUCCESS_REASONS:
            self._succeed()
        elif error.reason in FAILURE_REASONS or isinstance(error, UpstreamGarbled):
            self._breaker.failed()
            self._tell(BreakerOutcome.FAILED, error.reason)
        else:
            self._abandon()
        if error.reason not in REQUEST_REASONS:
            self._failed_at, self._failure = time.time(), error.reason

    def _succeed(self) -> None:
        if self._breaker.is_healthy:
            return
        with self._reporting:
            was_open = self._breaker.state != "closed"
            self._breaker.succeeded()
            if was_open and not self._is_dropped:
                breaker_events.closed(self.name)
            self._tell(BreakerOutcome.SUCCEEDED)

    def _abandon(self) -> None:
        was_trial = self._breaker.is_trying
        self._breaker.abandoned()
        if was_trial:
            self._tell(BreakerOutcome.ABANDONED)

    def _tell(self, outcome: BreakerOutcome, reason: str = "") -> None:
        shared_breakers.tell(self.name, self._breaker, outcome, reason)

    async def _send_within(self, request: Request, attempt: int, limit: CallLimit) -> Response:
        try:
            async with asyncio.timeout_at(limit.deadline):
                if self._has_rates:
                    await self._wait_for_rate(limit)
                async with self._loop_state.concurrency:
                    response = await self._exchanger.send(request, attempt)
        except TimeoutError:
            raise self._failures.too_slow(self.limits.total_seconds) from None
        error = self._failures.hiding(request.secrets).of_status(response)
        if error is not None:
            raise error
        return response

    async def _wait_for_rate(self, limit: CallLimit) -> None:
        """Raises UpstreamError at once if the wait would be too long."""
        patience = limit.patience(asyncio.get_running_loop().time())
        since = self._timing.clock()
        seconds = await self._rates.enter(patience)
        paused = self._timing.clock() - since
        limit.use.paused_seconds += paused
        if paused >= SHORTEST_PAUSE:
            limit.use.note_pause(paused)
        if seconds:
            raise self._failures.limited(seconds, self._rates.capacity)

    @property
    def _loop_state(self) -> LoopState:
        loop = asyncio.get_running_loop()
        state = self._states_by_loop.get(loop)
        if state is None:
            state = self._states_by_loop[loop] = LoopState(self.limits.concurrent)
        return state
