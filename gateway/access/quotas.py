"""Tokens that keys with a quota have used today, as Claude counts them. A day begins at midnight UTC.

Each process counts its own answers in memory, so a call only reads a number. Processes with a shared store add their
tokens to its totals at once and announce the totals, so that within milliseconds all processes know a key's usage. When
few tokens are left, answers of those milliseconds could exceed the quota. So each call then asks the store before it
begins, and adds its tokens before its answer is sent: the quota is exceeded only by the answer that crosses it, and by
calls that were begun before that answer was sent.
Without a shared store, a process reads the usage of the others from the recorded calls every few seconds, so a key may
exceed its quota by the answers of that time. A counter that cannot be read or written never fails a call (law 5).
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from django.db import DatabaseError

from context_protection.core.errors import INVALID_REQUEST, CallError
from context_protection.stores.announcements import Topic, announcements
from context_protection.stores.lazy_redis import redis_failures
from context_protection.stores.shared_store import shared_url
from gateway.access.quota_totals import recorded_totals, shared_totals
from telemetry.storage import release_connection

DAY = 86_400
SYNC = 1.0  # seconds between two exchanges with the shared store, if nothing is answered meanwhile
PROMPT = 0.01  # seconds between two exchanges while calls are answered
RECORDS_EVERY = 5.0  # seconds between two reads of the recorded calls
FEW_TOKENS = 50_000  # left of a quota; with fewer, each call asks the shared store
TOPIC = "quotas"  # of the announcements
logger = logging.getLogger(__name__)


class QuotaExceeded(CallError):
    """The key has used its tokens of today."""

    code = INVALID_REQUEST
    status = 429


class Quotas:
    """`_names`: id of a caller with a quota → name of its key. `_own`: what this process has used today. `_sent`:
    the part of `_own` that the shared store has. `_others`: what all other processes have used, as far as known."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._exchanging = threading.Lock()  # so that no tokens are added to the shared totals twice
        self._names: Mapping[str, str] = {}
        self._day = 0
        self._own: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._others: dict[str, int] = {}
        self.is_failing = False
        self.has_news = threading.Event()  # set by each answer

    def begin(self, names: Mapping[str, str]) -> None:
        """Sets the keys that have a quota now, and reads today's usage of the new ones. Blocks."""
        is_new = bool(names.keys() - self._names.keys())
        self._names = dict(names)
        if is_new:
            self.sync(from_records=True)

    def used(self, caller: str) -> int:
        if self._day != self._clock() // DAY:
            return 0
        return self._own.get(caller, 0) + self._others.get(caller, 0)

    def add(self, caller: str, tokens: int) -> None:
        with self._lock:
            self._begin_day()
            self._own[caller] = self._own.get(caller, 0) + tokens
        self.has_news.set()

    def are_few_left(self, caller: str, limit: int) -> bool:
        """Whether a call must `exchange` the caller's number before it begins and before its answer is sent."""
        return limit - self.used(caller) < FEW_TOKENS and bool(shared_url()) and not self.is_failing

    def exchange(self, caller: str) -> None:
        """Exchanges one caller's number with the shared store. Blocks; never raises."""
        with self._lock:
            self._begin_day()
        with self._exchanging:
            if self.is_failing:  # since this call began to wait; `sync` finds out when the store answers again
                return
            try:
                self._exchange([caller])
            except redis_failures() as error:
                self._complain(error)

    def sync(self, *, from_records: bool, only_news: bool = False) -> None:
        """Exchanges the numbers with the other processes: of all keys, or only of those for which this process has
        answered calls since the last time. Blocks; never raises."""
        if not self._names:
            return
        with self._lock:
            self._begin_day()
        try:
            with self._exchanging:
                self._exchange(self._with_news() if only_news else list(self._names))
                self.is_failing = False
        except redis_failures() as error:
            from_records = True
            self._complain(error)
        if from_records:
            try:
                self.learn(self._day, recorded_totals(self._names, self._begun))
            except DatabaseError as error:
                self._complain(error)

    @property
    def _begun(self) -> datetime:
        return datetime.fromtimestamp(self._day * DAY, UTC)

    def _with_news(self) -> list[str]:
        return [caller for caller in self._names if self._own.get(caller, 0) != self._sent.get(caller, 0)]

    def _exchange(self, callers: Sequence[str]) -> None:
        """Only under `_exchanging`. Raises RedisError."""
        day = self._day
        new = {caller: self._own.get(caller, 0) - self._sent.get(caller, 0) for caller in callers}
        totals = shared_totals(new, self._begun)
        if totals and day == self._day:
            self._sent |= {caller: self._sent.get(caller, 0) + tokens for caller, tokens in new.items()}
            self.learn(day, totals)
            changed = {caller: totals[caller] for caller, tokens in new.items() if tokens}
            if changed:
                announcements.tell(TOPIC, {"day": day, "totals": changed})

    def learn(self, day: int, totals: Mapping[str, int]) -> None:
        """Applies totals over all processes. A total may be old but is never too high, so the other processes have
        used at least the total minus this process's tokens."""
        with self._lock:
            if day != self._day:
                return
            for caller, total in totals.items():
                rest = total - self._own.get(caller, 0)
                self._others[caller] = max(self._others.get(caller, 0), rest)

    def _begin_day(self) -> None:
        day = int(self._clock() // DAY)
        if day != self._day:
            self._day, self._own, self._sent, self._others = day, {}, {}, {}

    def _complain(self, error: Exception) -> None:
        """Logs only the first of consecutive failures."""
        if not self.is_failing:
            logger.warning("this process counts quotas alone", extra={"error": type(error).__name__})
        self.is_failing = True


_quotas = Quotas()
begin, used, add, sync = _quotas.begin, _quotas.used, _quotas.add, _quotas.sync
are_few_left, exchange = _quotas.are_few_left, _quotas.exchange
announcements.follow(TOPIC, Topic(lambda message: _quotas.learn(message["day"], message["totals"])))


_ended = threading.Event()


def start() -> None:
    """Keeps this process's numbers current, on a thread of its own, until `stop`."""
    _ended.clear()
    threading.Thread(target=_follow, name="quotas", daemon=True).start()


def stop() -> None:
    _ended.set()
    _quotas.has_news.set()


def _follow() -> None:
    records_at = 0.0
    while not _ended.wait(PROMPT):
        has_news = _wait_for_news()
        is_due = time.monotonic() >= records_at
        if is_due:
            records_at = time.monotonic() + RECORDS_EVERY
        sync(from_records=is_due, only_news=has_news and not is_due)
        release_connection()


def _wait_for_news() -> bool:
    """Waits until a call is answered, for at most SYNC seconds; returns whether one was. Without a working shared store
    there is nobody to tell at once, so it waits the whole time."""
    if not shared_url() or _quotas.is_failing:
        _ended.wait(SYNC)
        return False
    has_news = _quotas.has_news.wait(SYNC)
    _quotas.has_news.clear()
    return has_news


def exceeded(name: str, caller: str, limit: int) -> QuotaExceeded | None:
    """The error for a key that has used its tokens of today; None if it has some left."""
    count = used(caller)
    if count < limit:
        return None
    left = DAY - int(time.time()) % DAY
    reset = datetime.fromtimestamp(int(time.time()) + left, UTC)
    return QuotaExceeded(
        f"The key {name} has used {count:,} of its {limit:,} tokens of today.",
        reason="quota_exceeded",
        parameter="dailyQuota",
        value=count,
        expected=f"at most {limit:,} tokens a day, as Claude counts them, from midnight to midnight UTC",
        suggestion=f"Call again after {reset:%Y-%m-%d %H:%M} UTC, or ask ops for a larger quota of this key.",
        retry_after=left,
    )
