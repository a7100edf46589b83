"""Raises one alert while too many responses would have been over budget, and clears it afterwards (O4, US5-4).

`judge` is the rule; `check` applies it to the calls of the last minutes. `settle` opens, updates and clears any alert.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.conf import settings
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from telemetry import queries
from telemetry.models import Alert

DEFAULT_RECOVERY = 0.8

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rule:
    """Raise above `share`, clear at `share × recovery` or below, so that the alert does not flap."""

    share: float
    recovery: float
    window: timedelta
    min_calls: int  # fewer calls raise no alert

    @property
    def minutes(self) -> int:
        return int(self.window.total_seconds() // 60)


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """The calls in the rule's window."""

    calls: int
    oversized: int

    @property
    def share(self) -> float:
        return self.oversized / self.calls if self.calls else 0.0


class Verdict(Enum):
    QUIET = "no alert, and no reason for one"
    RAISE = "an alert is due"
    KEEP = "the open alert stays"
    CLEAR = "the open alert is over"


def judge(window: WindowCounts, rule: Rule, *, alert_is_open: bool) -> Verdict:
    """The rule as a pure function. A window without calls clears the alert."""
    if alert_is_open:
        return Verdict.CLEAR if window.share <= rule.share * rule.recovery else Verdict.KEEP
    if window.calls >= rule.min_calls and window.share > rule.share:
        return Verdict.RAISE
    return Verdict.QUIET


def check(*, now: datetime | None = None) -> Verdict:
    """Evaluates the calls of the window that ends at `now`; opens, updates or clears the alert."""
    now = now or timezone.now()
    rule = rule_from_settings()
    seen = queries.totals(queries.Span.of(now - rule.window, now), has_latency=False)
    window = WindowCounts(seen.calls, seen.oversized_calls)
    return settle(
        Alert.AlertKind.OVERSIZED_SHARE,
        sighting(window, rule),
        now,
        lambda is_open: judge(window, rule, alert_is_open=is_open),
    )


def rule_from_settings() -> Rule:
    return Rule(
        share=settings.OVERSIZED_ALERT_SHARE,
        recovery=getattr(settings, "OVERSIZED_ALERT_RECOVERY", DEFAULT_RECOVERY),
        window=timedelta(minutes=settings.OVERSIZED_ALERT_WINDOW_MINUTES),
        min_calls=settings.OVERSIZED_ALERT_MIN_CALLS,
    )


def sighting(window: WindowCounts, rule: Rule) -> "Sighting":
    return Sighting(
        message=_sentence(window, rule),
        share=window.share,
        line=rule.share,
        seen=window.calls,
        affected=window.oversized,
        window_minutes=rule.minutes,
        advice="The answers were reduced, nothing was lost. The admin's list of calls shows which operations are "
        "oversized; look at their token budgets.",
    )


def _sentence(window: WindowCounts, rule: Rule) -> str:
    if not window.calls:
        return f"no calls in the last {rule.minutes} minutes."
    return (
        f"{window.oversized} of {window.calls} answers ({window.share:.1%}) in the last {rule.minutes} minutes would "
        "have been over their token budget, by the formula estimate or, where the budget's ruler says so, by Claude's "
        f"count; the alert line is {rule.share:.1%}."
    )


# -- Alert lifecycle --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sighting:
    """The result of a check, as an alert shows it. `share` and `line` are 0 to 1; `seen` is their denominator."""

    message: str
    share: float
    line: float
    seen: int
    advice: str
    affected: int = 0
    window_minutes: int = 0


def settle(kind: Alert.AlertKind, seen: Sighting, now: datetime, judged: Callable[[bool], Verdict]) -> Verdict:
    """Opens, updates or clears the alert of that kind. `judged` returns the verdict; its argument is whether one is
    open.

    Several processes may check at once: one opens the alert, the others find it open.
    """
    alert = Alert.objects.filter(kind=kind, state=Alert.State.OPEN).first()
    verdict = judged(alert is not None)
    match verdict, alert:
        case Verdict.RAISE, _:
            raise_once(kind, seen, now)
        case Verdict.KEEP, Alert():
            _update(alert, seen, now)
        case Verdict.CLEAR, Alert():
            _clear(alert, seen, now)
    return verdict


def raise_once(kind: Alert.AlertKind, seen: Sighting, now: datetime) -> bool:
    """Opens the alert, logs it and sends mail; False if another process has just opened it."""
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                kind=kind,
                message=seen.message,
                opened_at=now,
                last_checked_at=now,
                share=seen.share,
                peak_share=seen.share,
                threshold_share=seen.line,
                window_minutes=seen.window_minutes,
                calls=seen.seen,
                oversized_calls=seen.affected,
            )
    except IntegrityError:
        return False
    logger.warning("alert raised: %s", alert.message, extra=_fields(alert, seen))
    _send_mail(alert, seen.advice)
    return True


def _update(alert: Alert, seen: Sighting, now: datetime) -> None:
    _open(alert).update(message=seen.message, last_checked_at=now, peak_share=max(alert.peak_share, seen.share))


def _clear(alert: Alert, seen: Sighting, now: datetime) -> None:
    message = f"Cleared: {seen.message}"
    cleared = _open(alert).update(state=Alert.State.CLEARED, cleared_at=now, last_checked_at=now, message=message)
    if cleared:
        logger.info("alert cleared: %s", message, extra=_fields(alert, seen))


def _open(alert: Alert) -> QuerySet[Alert]:
    """The alert's row if it is still open: another process may have cleared it meanwhile."""
    return Alert.objects.filter(pk=alert.pk, state=Alert.State.OPEN)


def _fields(alert: Alert, seen: Sighting) -> dict[str, object]:
    return {
        "alert": alert.pk,
        "kind": alert.kind,
        "calls": seen.seen,
        "oversized_calls": seen.affected,
        "share": round(seen.share, 4),
        "threshold_share": alert.threshold_share,
    }


def _send_mail(alert: Alert, advice: str) -> None:
    if not settings.ALERT_EMAILS:
        return
    try:
        send_mail(
            subject=f"[Sluice] {alert.get_kind_display()}: {alert.share:.1%}",
            message=f"{alert.message}\n\n{advice}",
            from_email=None,
            recipient_list=settings.ALERT_EMAILS,
        )
    except Exception as error:  # the alert is stored and visible in the admin
        logger.warning("the alert's mail could not be sent", extra={"error": type(error).__name__})
