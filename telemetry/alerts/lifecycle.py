"""Advances one alert by one evaluation: begins, updates and ends episodes, and records each transition.

Everything runs inside the evaluation's transaction, so an alert and its notifications are stored together.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from telemetry import alert_states, events
from telemetry.alert_states import AlertState, Signal
from telemetry.alerts import links, notifications
from telemetry.alerts.conditions import Reading, RuleCondition, condition_of_alert
from telemetry.models.alerts import LONGEST_SUBJECT, Alert, AlertRule, AlertTransition

FORGOTTEN_AFTER = timedelta(days=1)  # how long an alert stays in the state No data before its episode ends
LONGEST_MESSAGE = 500
KEPT_TOOLS = 20

logger = logging.getLogger("telemetry.alerts")


def advance(
    rule: AlertRule,
    condition: RuleCondition,
    alert: Alert | None,
    reading: Reading,
    signal: Signal | None,
    now: datetime,
) -> Alert | None:
    """The alert after this evaluation; None if there was no episode and none has begun. `signal` None keeps the
    state."""
    track = alert.track if alert else alert_states.normal(now)
    next_track = alert_states.step(track, signal, now, condition.timing) if signal else track
    if alert is None and next_track.state is AlertState.NORMAL:
        return None
    alert = alert or _begun(rule, reading, now)
    before = AlertState.NORMAL if alert.pk is None else AlertState(alert.state)
    _update_figures(alert, reading, now)
    alert.state, alert.since = next_track.state, next_track.since
    if next_track.state is AlertState.ALERTING:
        alert.fired_at = alert.fired_at or now
    if next_track.state is AlertState.NORMAL:
        alert.ended_at = now
    alert.save()
    transition = _record_transition(alert, before, now) if alert.state != before else None
    notifications.queue_for(alert, transition, now)
    return alert


def _begun(rule: AlertRule, reading: Reading, now: datetime) -> Alert:
    """A new episode. If a silence of the subject's last episode has not ended, it applies to this one too."""
    subject = reading.subject[:LONGEST_SUBJECT]
    last = Alert.objects.filter(rule=rule, subject=subject).first()
    is_silenced = last is not None and last.is_silenced(now)
    return Alert(
        rule=rule,
        subject=subject,
        started_at=now,
        silenced_until=last.silenced_until if last and is_silenced else None,
        silenced_by=last.silenced_by if last and is_silenced else "",
    )


def _update_figures(alert: Alert, reading: Reading, now: datetime) -> None:
    alert.checked_at, alert.limit = now, reading.limit
    alert.message = reading.message[:LONGEST_MESSAGE]
    alert.sample, alert.affected = reading.sample, reading.affected
    alert.value = reading.value
    if reading.value is not None:
        alert.peak = max(reading.value, alert.peak if alert.peak is not None else reading.value)
    alert.details = {
        "tools": [[*asdict(share).values()] for share in reading.tools[:KEPT_TOOLS]],
        "calls": {name: list(values) for name, values in reading.calls.items()},
    }


def _record_transition(alert: Alert, before: AlertState, now: datetime, over: str = "recovered") -> AlertTransition:
    """`over`: what the alert did if it is over."""
    transition = AlertTransition.objects.create(
        alert=alert,
        at=now,
        before=before,
        after=alert.state,
        value=alert.value,
        limit=alert.limit,
        message=alert.message,
    )
    match before, alert.state:
        case _, AlertState.ALERTING if alert.fired_at == now:
            logger.warning("alert raised: %s", alert.message, extra=_fields(alert))
            _mark(alert, "fires", now)
        case _, AlertState.NORMAL if alert.fired_at is not None:
            logger.info("alert cleared: %s", alert.message, extra=_fields(alert))
            _mark(alert, over, now)
        case _, AlertState.ERROR:
            logger.warning("alert could not be checked: %s", alert.message, extra=_fields(alert))
    return transition


def _mark(alert: Alert, verb: str, now: datetime) -> None:
    """Records the event that charts show as the mark A."""
    events.record(
        at=now,
        kind=events.EventKind.ALERT,
        subject_type=condition_of_alert(alert).per if alert.subject else "alert",
        subject=alert.subject,
        summary=f"{alert.title} {verb}",
        reason=alert.message,
        object=links.object_of(alert),
    )


def _fields(alert: Alert) -> Mapping[str, Any]:
    return {
        "alert": alert.pk,
        "kind": alert.rule.kind,
        "subject": alert.subject,
        "value": None if alert.value is None else round(alert.value, 4),
        "limit": alert.limit,
        "calls": alert.sample,
        "affected": alert.affected,
    }


def end(alert: Alert, message: str, now: datetime) -> None:
    """Ends an episode without waiting for its recovery, and without a notification."""
    before, alert.state = AlertState(alert.state), AlertState.NORMAL
    alert.since = alert.ended_at = now
    alert.message = message
    alert.save()
    _record_transition(alert, before, now, over="ended")
