"""One round of checks over all rules. Beat starts a round every 15 seconds, so that an outage shows within a minute.
Only one round runs at a time.

A rule that cannot be evaluated puts its alerts into the state Error and never stops the others. Nothing here waits for
a channel: notifications are queued, and tasks deliver them.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from telemetry.alert_kinds import NoData
from telemetry.alert_states import AlertState, Signal
from telemetry.alerts import lifecycle, notifications, readings
from telemetry.alerts.conditions import Reading, RuleCondition, condition_of, signal
from telemetry.locks import only_one
from telemetry.models.alerts import Alert, AlertRule

STALE_AFTER = timedelta(seconds=90)
NO_CALLS = "No calls to check. That is not the same as OK."
NOTHING_LEFT = "Nothing to check any more. This rule counts that as recovered."
NOT_CHECKED = "The rule could not be checked ({error}). It is tried again in 15 seconds."

logger = logging.getLogger("telemetry.alerts")


def check_alerts(*, now: datetime | None = None) -> bool:
    """Evaluates every enabled rule, and starts the notifications that are due. False: another process is already
    evaluating."""
    now = now or timezone.now()
    with only_one("alerts") as is_ours:
        if not is_ours:
            return False
        for rule in AlertRule.objects.filter(is_enabled=True):
            evaluate(rule, now)
        end_orphans(now)
    notifications.start_due(now)
    return True


def last_check() -> datetime | None:
    """The time of the last check of any rule; None: never. If it is older than STALE_AFTER, the checks have stopped."""
    last: datetime | None = AlertRule.objects.aggregate(last=Max("checked_at"))["last"]
    return last


def evaluate(rule: AlertRule, now: datetime) -> None:
    """Evaluates one rule. The figures are read outside the transaction, because on SQLite a transaction would block
    the recording of calls."""
    condition, memory = condition_of(rule), rule.memory
    try:
        found: Sequence[Reading] | None = readings.read(rule, condition, now)
        failure = ""
    except Exception as error:  # one rule never stops the others; its state says that it was not checked
        logger.exception("alert rule not evaluated", extra={"rule": rule.name})
        found, failure = None, type(error).__name__
    with transaction.atomic():
        if found is None:
            _could_not_check(rule, condition, failure, now)
        else:
            _apply(rule, condition, found, now)
        changed = {"memory": rule.memory} if rule.memory != memory else {}
        AlertRule.objects.filter(pk=rule.pk).update(checked_at=now, **changed)


def _apply(rule: AlertRule, condition: RuleCondition, found: Sequence[Reading], now: datetime) -> None:
    current = {alert.subject: alert for alert in rule.alerts.current().select_for_update()}
    for reading in found:
        seen = signal(reading, minimum=condition.minimum, no_data=condition.no_data)
        lifecycle.advance(rule, condition, current.pop(reading.subject, None), reading, seen, now)
    for alert in current.values():
        _without_calls(rule, condition, alert, now)


def _without_calls(rule: AlertRule, condition: RuleCondition, alert: Alert, now: datetime) -> None:
    """Updates or ends an alert whose subject has had no calls in the window."""
    if alert.state == AlertState.ERROR and alert.fired_at is None:
        lifecycle.end(alert, "The rule can be checked again.", now)
        return
    if alert.state == AlertState.NO_DATA and now - alert.since > lifecycle.FORGOTTEN_AFTER:
        lifecycle.end(alert, "Nothing was seen of it for a day.", now)
        return
    reading = _nothing(alert, NOTHING_LEFT if condition.no_data is NoData.OK else NO_CALLS)
    seen = signal(reading, minimum=condition.minimum, no_data=condition.no_data)
    lifecycle.advance(rule, condition, alert, reading, seen, now)


def _could_not_check(rule: AlertRule, condition: RuleCondition, error: str, now: datetime) -> None:
    message = NOT_CHECKED.format(error=error)
    current = list(rule.alerts.current().select_for_update())
    for alert in current:
        lifecycle.advance(rule, condition, alert, _nothing(alert, message), Signal.ERROR, now)
    if not current:
        everything = Reading(
            subject="", value=None, limit=condition.limit, recovery=condition.recovery, message=message
        )
        lifecycle.advance(rule, condition, None, everything, Signal.ERROR, now)


def _nothing(alert: Alert, message: str) -> Reading:
    return Reading(subject=alert.subject, value=None, limit=alert.limit, recovery=alert.limit, message=message)


def end_orphans(now: datetime) -> None:
    """Ends the alerts of rules that have been switched off."""
    for alert in Alert.objects.current().filter(rule__is_enabled=False).select_related("rule"):
        lifecycle.end(alert, "The rule was switched off.", now)
