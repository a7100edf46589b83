"""Rate limits of upstreams: a sliding window, shared by all processes through Redis if it is configured. A call that is
too early waits for its turn. A call that would wait too long is rejected at once."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from secrets import token_hex

from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gateway.upstreams.loops import PerLoop

logger = logging.getLogger(__name__)

REDIS_SECONDS = 0.5  # timeout of Redis
AWAY_SECONDS = 5.0  # pause after Redis has failed
CAUTIOUS_SHARE = 4  # while Redis is down, a process uses a fourth of the rate: there may be others

# Grants are stored by due time, in microseconds. The grant `amount` positions back bounds the next one.
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
class Rate:
    """At most `amount` exchanges in any period of `seconds`. `name` is unique within the upstream."""

    name: str
    amount: int
    seconds: float


class Window:
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
        self._rate, self._clock = rate, clock
        self._key = f"sluice:rate:{upstream}:{rate.name}"
        self._local = Window(rate.amount, rate.seconds, clock)
        self._fallback = Window(max(1, rate.amount // CAUTIOUS_SHARE), rate.seconds, clock)
        self._away_until = 0.0
        self._reported_left, self._reported_until = rate.amount, 0.0  # by Redis; and until when that is valid

    @property
    def left(self) -> int:
        if not settings.REDIS_URL:
            return self._local.left
        return self._reported_left if self._clock() < self._reported_until else self._rate.amount

    async def reserve(self, longest: float) -> float:
        """As `Window.reserve`, over all processes."""
        if not settings.REDIS_URL:
            return self._local.reserve(longest)
        if self._clock() < self._away_until:
            return self._fallback.reserve(longest)
        try:
            return await self._reserve_shared(longest)
        except (RedisError, OSError, TimeoutError):
            logger.warning("rates are kept by each process alone: Redis does not answer")
            self._away_until = self._clock() + AWAY_SECONDS
            return self._fallback.reserve(longest)

    async def _reserve_shared(self, longest: float) -> float:
        redis = await _redis.get()
        rate = self._rate
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
        """How many exchanges the tightest rate allows at once."""
        return min((rate.left for rate in self._rates), default=None)

    async def enter(self, longest: float) -> float:
        """Waits until an exchange is due, and returns 0.0. Returns the seconds at once if they exceed `longest`."""
        for rate in self._rates:
            seconds = await rate.reserve(longest)
            if seconds > longest:
                return seconds
            if seconds > 0:
                await self._sleep(seconds)
                longest -= seconds
        return 0.0


def _connect() -> "Redis":
    return Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


_redis: PerLoop["Redis"] = PerLoop(_connect, Redis.aclose)
