"""Queues notifications of alerts, and delivers them.

The table of notifications is the queue. `queue_for` writes a row for each transition and channel, in the evaluation's
transaction. A Celery task delivers each row. If a task is lost, the next evaluation starts another.
"""

import logging
from datetime import datetime, timedelta

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from telemetry.alert_states import AlertState
from telemetry.alerts import channels, messages
from telemetry.models.alerts import Alert, AlertTransition, Notification

DELIVER = "telemetry.tasks.deliver_notification"  # the task that calls `deliver`
PAUSES = (5, 15, 60, 300, 900, 3600)  # seconds between attempts
LEASE = timedelta(seconds=60)  # after this time, another worker may repeat an attempt that has not ended
LONGEST_RESULT = 300
SILENCED = "silenced; sent when the silence ends, unless the alert has ended by then"

logger = logging.getLogger("telemetry.alerts")


def queue_for(alert: Alert, transition: AlertTransition | None, now: datetime) -> None:
    """Queues notifications when the alert fires and when it has recovered, unless it is acknowledged or silenced."""
    if alert.acknowledged_at is not None or alert.is_silenced(now):
        return
    if alert.state == AlertState.ALERTING and alert.told_at is None:
        alert.told_at = now
        alert.save(update_fields=["told_at"])
        _queue(alert, transition or _firing(alert), now)
    elif alert.state == AlertState.NORMAL and alert.told_at is not None and transition is not None:
        _queue(alert, transition, now)


def _firing(alert: Alert) -> AlertTransition:
    """The alert's last transition to firing. It may be old: a silence delays the notification."""
    return alert.transitions.filter(after=AlertState.ALERTING).latest("at")


def _queue(alert: Alert, transition: AlertTransition, now: datetime) -> None:
    wanted = [channel for channel in alert.rule.channels.all() if channel.can_send]
    made = [Notification(transition=transition, channel=channel, queued_at=now, due_at=now) for channel in wanted]
    Notification.objects.bulk_create(made, ignore_conflicts=True)


# -- Delivery -----------------------------------------------------------------------------------------


def start_due(now: datetime) -> int:
    """Starts a task for each notification that is due, unless a silence holds it back. Returns how many were
    started."""
    due = Notification.objects.filter(state=Notification.Delivery.QUEUED, due_at__lte=now)
    still_wanted = Q(transition__alert__ended_at=None, transition__alert__acknowledged_at=None)
    silenced = still_wanted & Q(transition__after=AlertState.ALERTING, transition__alert__silenced_until__gt=now)
    return sum(_start_task(pk) for pk in list(due.exclude(silenced).values_list("pk", flat=True)))


def _start_task(pk: int, pause: float = 0) -> bool:
    try:
        current_app.send_task(DELIVER, (pk,), countdown=pause, retry=False)
    except OperationalError as error:  # the broker is unreachable; the next evaluation tries again
        logger.warning("notification task not started", extra={"notification": pk, "error": type(error).__name__})
        return False
    return True


def deliver(pk: int, *, now: datetime | None = None) -> None:
    """Makes one attempt, if it is due and no other worker is making it. If it fails, schedules the next one, unless
    the failure is final or PAUSES is exhausted."""
    now = now or timezone.now()
    if not _claimed(pk, now):
        return
    notification = Notification.objects.select_related("channel", "transition__alert__rule").get(pk=pk)
    if reason := _no_longer_wanted(notification):
        _finish(notification, Notification.Delivery.DROPPED, reason)
        return
    if _is_silenced(notification, now) or _waits(notification):
        return
    sent = channels.send(notification.channel, messages.of_transition(notification), deduplicate=f"notification-{pk}")
    if sent.ok:
        _finish(notification, Notification.Delivery.SENT, sent.result)
    elif notification.attempts > len(PAUSES) or sent.is_final:
        _finish(notification, Notification.Delivery.FAILED, sent.result)
        logger.warning(
            "notification not delivered", extra={"channel": notification.channel.name, "result": sent.result}
        )
    else:
        _try_again(notification, sent.result, now)


def _claimed(pk: int, now: datetime) -> bool:
    """Claims the attempt for this worker. False if it is not due, or if another worker has claimed it."""
    due = Notification.objects.filter(pk=pk, state=Notification.Delivery.QUEUED, due_at__lte=now)
    return bool(due.update(due_at=now + LEASE, attempts=F("attempts") + 1))


# A message may have arrived although the answer was lost, so an earlier attempt counts.
_MAY_KNOW = Q(state__in=(Notification.Delivery.QUEUED, Notification.Delivery.SENT)) | Q(attempts__gt=1)


def _no_longer_wanted(notification: Notification) -> str:
    """Why the message is not to be sent; "" if it is."""
    if not notification.channel.is_enabled:
        return "the channel was switched off before this was sent"
    if notification.transition.after != AlertState.ALERTING:
        return (
            "" if _of_firing(notification).filter(_MAY_KNOW).exists() else "the message about the firing was not sent"
        )
    alert = notification.transition.alert
    if alert.ended_at is not None:
        return "the alert ended before this was sent"
    if alert.acknowledged_at is not None:
        return f"acknowledged by {alert.acknowledged_by} meanwhile"
    return ""


def _is_silenced(notification: Notification, now: datetime) -> bool:
    """Whether the message of firing waits for the end of a silence, which people can change meanwhile."""
    transition = notification.transition
    if transition.after != AlertState.ALERTING or not transition.alert.is_silenced(now):
        return False
    _put_back(notification, due_at=now, result=SILENCED)
    return True


def _of_firing(recovery: Notification) -> QuerySet[Notification]:
    """The notification of the same channel about the firing of the alert."""
    fired = Notification.objects.filter(transition__alert=recovery.transition.alert, channel=recovery.channel)
    return fired.filter(transition__after=AlertState.ALERTING)


def _waits(notification: Notification) -> bool:
    """Whether the message of recovery waits, because another worker may be sending the one of firing. Its next attempt
    is then due when that one's is: by then it was sent, or is dropped because the alert has ended."""
    if notification.transition.after == AlertState.ALERTING:
        return False
    firing = _of_firing(notification).filter(state=Notification.Delivery.QUEUED).first()
    if firing is None:
        return False
    _put_back(notification, due_at=firing.due_at)
    return True


def _put_back(notification: Notification, **fields: object) -> None:
    """Ends a claim that was no attempt."""
    Notification.objects.filter(pk=notification.pk).update(attempts=F("attempts") - 1, **fields)


def _try_again(notification: Notification, result: str, now: datetime) -> None:
    pause = PAUSES[notification.attempts - 1]
    notification.result, notification.due_at = result[:LONGEST_RESULT], now + timedelta(seconds=pause)
    notification.save(update_fields=["result", "due_at"])
    transaction.on_commit(lambda: _start_task(notification.pk, pause))


def _finish(notification: Notification, state: str, result: str) -> None:
    notification.state, notification.result = state, result[:LONGEST_RESULT]
    notification.sent_at = timezone.now() if state == Notification.Delivery.SENT else None
    notification.save(update_fields=["state", "result", "sent_at"])
