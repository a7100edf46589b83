"""Limits of calls to an upstream: time, size, rate and retries.

A rate is a sliding window, shared by all processes through the shared store if there is one. A call that exceeds a rate
waits; if it would wait too long, it is rejected at once, and the error names the capacity left. No other layer retries.
"""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING

from context_protection.stores.lazy_redis import redis_failures
from context_protection.stores.shared_store import shared_url
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.per_loop import PerLoop

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

REDIS_SECONDS = 0.5  # timeout of Redis
REDIS_COOLDOWN_SECONDS = 5.0  # pause after Redis has failed
CAUTIOUS_SHARE = 4  # while Redis is down, each process divides the rate by this, because there may be other processes

FIRST_PAUSE = 0.2  # seconds; upper bound of the first pause
LONGEST_PAUSE = 5.0
RETRY_SHARE = 0.2  # allowed retries per recent call
RETRY_FLOOR = 3  # retries that are allowed however few calls there are
RETRY_WINDOW_SECONDS = 10

# Grants are stored by due time, in microseconds. The next one is due no earlier than one window after the grant
# `amount` positions back.
RESERVE = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local amount, window, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local bound = redis.call('ZREVRANGE', KEYS[1], amount - 1, amount - 1, 'WITHSCORES')
local due = now
if bound[2] then due = math.max(now, tonumber(bound[2]) + window) end
if due - now > longest then return {due - now, 0} end
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[4])
redis.call('PEXPIRE', KEYS[1], math.ceil((due - now + window) / 1000))
return {due - now, math.max(0, amount - redis.call('ZCARD', KEYS[1]))}
"""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one call. `total_seconds`: all attempts with the pauses between them. `wait_seconds`: the sum of all
    pauses between attempts and for rate limits. `most_bytes`: of a decoded body. `concurrent`: simultaneous exchanges
    with one upstream per event loop, so that a slow upstream does not use up all connections. `most_answers`: the most
    cached answers of the upstream; None: as many as the limit of all caches allows."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 55.0
    wait_seconds: float = 10.0
    most_bytes: int = 16 * 2**20
    attempts: int = 3
    concurrent: int = 25
    most_answers: int | None = None


DEFAULT_LIMITS = CallLimits()


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of at most `amount` exchanges in any period of `seconds`. `name` is unique within the upstream."""

    name: str
    amount: int
    seconds: float


class SlidingWindow:
    """The sliding window of one process."""

    def __init__(self, amount: int, seconds: float, clock: Callable[[], float]) -> None:
        self._amount, self._seconds, self._clock = amount, seconds, clock
        self._due: deque[float] = deque(maxlen=amount)

    def reserve(self, longest: float) -> float:
        """Seconds until the next exchange is due. If they exceed `longest`, nothing is reserved."""
        now = self._clock()
        due = max(now, self._due[0] + self._seconds) if len(self._due) == self._amount else now
        if due - now <= longest:
            self._due.append(due)
        return due - now

    @property
    def left(self) -> int:
        since = self._clock() - self._seconds
        return self._amount - sum(due > since for due in self._due)


class SharedRate:
    """A rate that all processes share."""

    def __init__(self, upstream: str, rate: Rate, clock: Callable[[], float]) -> None:
        self.rate, self._clock = rate, clock
        self._key = f"sluice:rate:{upstream}:{rate.name}"
        self._local = SlidingWindow(rate.amount, rate.seconds, clock)
        self._fallback = SlidingWindow(max(1, rate.amount // CAUTIOUS_SHARE), rate.seconds, clock)
        self._paused_until = 0.0  # Redis is not used before this time
        self._reported_left, self._reported_until = rate.amount, 0.0  # the count that Redis reported, and its expiry

    @property
    def left(self) -> int:
        if not shared_url():
            return self._local.left
        return self._reported_left if self._clock() < self._reported_until else self.rate.amount

    async def reserve(self, longest: float) -> float:
        """Like `SlidingWindow.reserve`, but for all processes together."""
        if not shared_url():
            return self._local.reserve(longest)
        if self._clock() < self._paused_until:
            return self._fallback.reserve(longest)
        try:
            return await self._reserve_shared(longest)
        except redis_failures():
            logger.warning("Redis does not answer: each process limits its own rate")
            self._paused_until = self._clock() + REDIS_COOLDOWN_SECONDS
            return self._fallback.reserve(longest)

    async def _reserve_shared(self, longest: float) -> float:
        redis = await _redis.get()
        rate = self.rate
        window, most = int(rate.seconds * 1e6), int(longest * 1e6)
        reply = redis.eval(RESERVE, 1, self._key, str(rate.amount), str(window), str(most), token_hex(8))
        async with asyncio.timeout(REDIS_SECONDS):
            wait, self._reported_left = await reply
        self._reported_until = self._clock() + rate.seconds
        return float(wait) / 1e6


class Rates:
    """All rates of one upstream."""

    def __init__(
        self,
        upstream: str,
        rates: Sequence[Rate],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sleep = sleep
        self._rates = [SharedRate(upstream, rate, clock) for rate in rates]

    @property
    def left(self) -> int | None:
        """The number of exchanges that the tightest rate allows at once; None without a rate."""
        return min((rate.left for rate in self._rates), default=None)

    @property
    def capacity(self) -> dict[str, int]:
        """The capacity of the tightest rate, in requests. If several are equally tight, the one with the longest period
        counts. Empty without a rate."""
        tightest = min(self._rates, key=lambda each: (each.left, -each.rate.seconds), default=None)
        return {"remaining": tightest.left, "limit": tightest.rate.amount} if tightest else {}

    async def enter(self, longest: float) -> float:
        """Returns 0.0 once an exchange is due. If the wait would exceed `longest`, returns its length at once."""
        for rate in self._rates:
            seconds = await rate.reserve(longest)
            if seconds > longest:
                return seconds
            if seconds > 0:
                await self._sleep(seconds)
                longest -= seconds
        return 0.0


def _connect() -> "Redis":
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return Redis.from_url(
        shared_url(),
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )


_redis: PerLoop["Redis"] = PerLoop(_connect, lambda client: client.aclose())


class RetryBudget:
    """Limits the retries of an upstream, so that they do not multiply the load of an outage. Counts per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[int, int] = {}
        self._retries: dict[int, int] = {}

    def note_call(self) -> None:
        self._count(self._calls)

    def take(self) -> bool:
        """Takes one retry from the budget. False if none is left."""
        first = int(self._clock()) - RETRY_WINDOW_SECONDS
        calls, retries = (sum(n for at, n in counts.items() if at > first) for counts in (self._calls, self._retries))
        if retries >= max(RETRY_FLOOR, int(RETRY_SHARE * calls)):
            return False
        self._count(self._retries)
        return True

    def _count(self, counts: dict[int, int]) -> None:
        second = int(self._clock())
        counts[second] = counts.get(second, 0) + 1
        if len(counts) > RETRY_WINDOW_SECONDS:
            counts.pop(min(counts), None)


class Retries:
    def __init__(
        self, attempts: int, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._attempts, self._chance = attempts, chance
        self.budget = RetryBudget(clock)

    def pause(self, error: UpstreamError, attempt: int, seconds_left: float) -> float | None:
        """The pause in seconds after failed attempt number `attempt`; None: do not retry. The pause is the upstream's
        retry_after, or else random, below a bound that doubles with each attempt. A pause that exceeds `seconds_left`
        means no retry."""
        if not error.transient or attempt >= self._attempts:
            return None
        bound = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
        seconds = float(error.retry_after) if error.retry_after is not None else self._chance() * bound
        return seconds if seconds < seconds_left and self.budget.take() else None
