"""How often an upstream may be called: a window that slides, shared by all processes over Redis where there is one. Who
comes too early is given a moment later, and waits for it; who would wait too long is told so at once."""

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

REDIS_SECONDS = 0.5  # that an answer of Redis is waited for
AWAY_SECONDS = 5.0  # that Redis is not asked after it has failed
CAUTIOUS_SHARE = 4  # without Redis, a process takes a fourth: there may be others

# Grants are kept by when they are due, in microseconds; the one `amount` grants ago bounds the next.
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
    """At most `amount` exchanges in any `seconds`. `name` tells it from others of the same upstream."""

    name: str
    amount: int
    seconds: float


class Window:
    """A rate in this process."""

    def __init__(self, amount: int, seconds: float, clock: Callable[[], float]) -> None:
        self._amount, self._seconds, self._clock = amount, seconds, clock
        self._due: deque[float] = deque(maxlen=amount)

    def reserve(self, longest: float) -> float:
        """Seconds until the next exchange is due. Nothing is reserved where these are more than `longest`."""
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
    """A rate over all processes."""

    def __init__(self, upstream: str, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._key = f"sluice:rate:{upstream}:{rate.name}"
        self._alone = Window(rate.amount, rate.seconds, clock)
        self._cautious = Window(max(1, rate.amount // CAUTIOUS_SHARE), rate.seconds, clock)
        self._away_until = 0.0
        self._seen, self._seen_until = rate.amount, 0.0  # what Redis said was left, and until when that says anything

    @property
    def left(self) -> int:
        if not settings.REDIS_URL:
            return self._alone.left
        return self._seen if self._clock() < self._seen_until else self._rate.amount

    async def reserve(self, longest: float) -> float:
        """Seconds until the next exchange is due; not reserved where these are more than `longest`."""
        if not settings.REDIS_URL:
            return self._alone.reserve(longest)
        if self._clock() < self._away_until:
            return self._cautious.reserve(longest)
        try:
            return await self._ask(longest)
        except (RedisError, OSError, TimeoutError):
            logger.warning("rates are kept by each process alone: Redis does not answer")
            self._away_until = self._clock() + AWAY_SECONDS
            return self._cautious.reserve(longest)

    async def _ask(self, longest: float) -> float:
        redis = await _redis.get()
        rate = self._rate
        window, most = int(rate.seconds * 1e6), int(longest * 1e6)
        asked = redis.eval(RESERVE, 1, self._key, str(rate.amount), str(window), str(most), token_hex(8))
        async with asyncio.timeout(REDIS_SECONDS):
            wait, self._seen = await asked
        self._seen_until = self._clock() + rate.seconds
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
        """How many exchanges the tightest of them lets through at once."""
        return min((rate.left for rate in self._rates), default=None)

    async def enter(self, longest: float) -> float:
        """Waits until an exchange is due, then 0.0; or the seconds until then, at once, where they are too many."""
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
