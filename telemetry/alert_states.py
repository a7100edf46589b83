"""The state machine of an alert. `step` is a pure function of the current state and the signal of an evaluation.

    Normal ─► Pending ─► Alerting ─► Recovering ─► Normal
    any of them ─► No data, Error ─► back, as soon as there is data again

An episode starts when the alert leaves Normal and ends when it returns there. It fires at most once, so a value that
flaps around the limit makes one notification. The signals No data and Error never return an alert to Normal.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import TextChoices


class AlertState(TextChoices):
    NORMAL = "normal", "Normal"
    PENDING = "pending", "Pending"
    ALERTING = "alerting", "Firing"
    RECOVERING = "recovering", "Recovering"
    NO_DATA = "no_data", "No data"
    ERROR = "error", "Error"


FIRING = (AlertState.ALERTING, AlertState.RECOVERING)
UNKNOWN = (AlertState.NO_DATA, AlertState.ERROR)


class Signal(TextChoices):
    """The result of one evaluation."""

    OVER = "over", "over the limit, with enough of a sample"
    BETWEEN = "between", "neither over the limit nor recovered"
    UNDER = "under", "at or below the recovery threshold"
    NO_DATA = "no_data", "nothing to judge"
    ERROR = "error", "could not be evaluated"


@dataclass(frozen=True, slots=True)
class RuleTiming:
    """`pending`: how long a value stays over the limit before the alert fires. `recovery`: how long it stays at or
    below the recovery threshold before the alert is over."""

    pending: timedelta
    recovery: timedelta


@dataclass(frozen=True, slots=True)
class Track:
    """The state of one alert. `has_fired`: whether it has fired in this episode."""

    state: AlertState
    since: datetime
    has_fired: bool = False


def normal(now: datetime) -> Track:
    return Track(AlertState.NORMAL, now)


def step(track: Track, signal: Signal, now: datetime, timing: RuleTiming) -> Track:
    """The track after one more evaluation; `track` itself if the state is the same."""
    state = _next(track, signal, now, timing)
    if state is track.state:
        return track
    if state is AlertState.NORMAL:
        return normal(now)
    return replace(track, state=state, since=now, has_fired=track.has_fired or state is AlertState.ALERTING)


def _next(track: Track, signal: Signal, now: datetime, timing: RuleTiming) -> AlertState:
    match signal:
        case Signal.ERROR:
            return AlertState.ERROR
        case Signal.NO_DATA:
            return AlertState.NO_DATA
        case Signal.OVER:
            return _over(track, now, timing)
        case Signal.BETWEEN:
            return AlertState.ALERTING if track.has_fired else AlertState.NORMAL
        case Signal.UNDER:
            return _under(track, now, timing)


def _over(track: Track, now: datetime, timing: RuleTiming) -> AlertState:
    if track.has_fired:
        return AlertState.ALERTING
    waited = now - track.since if track.state is AlertState.PENDING else timedelta()
    return AlertState.ALERTING if waited >= timing.pending else AlertState.PENDING


def _under(track: Track, now: datetime, timing: RuleTiming) -> AlertState:
    if not track.has_fired:
        return AlertState.NORMAL
    waited = now - track.since if track.state is AlertState.RECOVERING else timedelta()
    return AlertState.NORMAL if waited >= timing.recovery else AlertState.RECOVERING
