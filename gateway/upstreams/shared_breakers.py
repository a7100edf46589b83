"""Shares an upstream's breaker among all processes: a failure in one process counts in all of them.

Successes are announced only after a failure, so a call to a healthy upstream costs nothing. Telemetry records the
breaker of each process separately, because a killed process never records that its breaker has closed.
"""

import time
from enum import Enum
from typing import Any
from weakref import WeakValueDictionary

from context_protection.breaker import Breaker
from context_protection.stores.announcements import Topic, announcements
from gateway.upstreams import breaker_events

TOPIC = "breakers"


class BreakerOutcome(Enum):
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    TRYING = "trying"  # a trial call begins
    ABANDONED = "abandoned"  # a trial call has ended without showing whether the upstream works


_breakers: WeakValueDictionary[str, Breaker] = WeakValueDictionary()  # upstream → this process's breaker
_open: dict[str, tuple[float, float]] = {}  # breakers found open in other processes: until (Unix time), cooldown


def join(upstream: str, breaker: Breaker) -> None:
    """Shares a breaker from now on, and replaces an earlier one of the same upstream. If the upstream's breaker is open
    in other processes, this one opens."""
    _breakers[upstream] = breaker
    until, cooldown = _open.pop(upstream, (0.0, 0.0))
    if (seconds := until - time.time()) > 0:
        breaker.open_for(seconds, cooldown)


def leave(upstream: str, breaker: Breaker) -> None:
    """No longer shares the breaker, even while calls in flight still use it."""
    if _breakers.get(upstream) is breaker:
        del _breakers[upstream]


def tell(upstream: str, breaker: Breaker, outcome: BreakerOutcome, reason: str = "") -> None:
    """Announces what this process's breaker has just counted, if the breaker is shared. `reason`: of a failure. Does
    not block."""
    if _breakers.get(upstream) is not breaker:
        return
    announcements.tell(TOPIC, {"upstream": upstream, "outcome": outcome.value, "reason": reason})
    if outcome is BreakerOutcome.FAILED and breaker.state == "open":
        announcements.keep(TOPIC, upstream, [time.time() + breaker.seconds_left, breaker.cooldown])
    elif outcome is BreakerOutcome.SUCCEEDED:
        announcements.keep(TOPIC, upstream, None)


def _hear(message: dict[str, Any]) -> None:
    upstream, outcome = message["upstream"], BreakerOutcome(message["outcome"])
    breaker = _breakers.get(upstream)
    if breaker is None:
        if outcome is BreakerOutcome.SUCCEEDED:
            _open.pop(upstream, None)
        return
    was_closed = breaker.state == "closed"
    _count(breaker, outcome)
    is_closed = breaker.state == "closed"
    if was_closed and not is_closed:
        breaker_events.opened(upstream, message["reason"])
    elif is_closed and not was_closed:
        breaker_events.closed(upstream)


def _count(breaker: Breaker, outcome: BreakerOutcome) -> None:
    match outcome:
        case BreakerOutcome.FAILED:
            breaker.failed()
        case BreakerOutcome.SUCCEEDED:
            breaker.succeeded()
        case BreakerOutcome.TRYING:
            breaker.tried_elsewhere()
        case BreakerOutcome.ABANDONED:
            breaker.abandoned()


def _catch_up(kept: dict[str, Any]) -> None:
    for upstream, (until, cooldown) in kept.items():
        _open[upstream] = until, cooldown
        if (breaker := _breakers.get(upstream)) is not None and breaker.state == "closed":
            join(upstream, breaker)


announcements.follow(TOPIC, Topic(_hear, _catch_up))
