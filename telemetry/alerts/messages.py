"""The content of a notification, as email, webhook and Slack message."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from telemetry.alert_kinds import Severity
from telemetry.alert_states import AlertState
from telemetry.alerts import links
from telemetry.alerts.conditions import condition_of
from telemetry.models.alerts import Alert, AlertRule, AlertTransition, Notification

SHAPES = {Severity.DOWN: "■", Severity.DEGRADED: "▲"}
RECOVERED = "●"
SLACK_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True, slots=True)
class Message:
    subject: str
    text: str  # plain, for email
    document: Mapping[str, Any]  # the JSON of a webhook
    slack: Mapping[str, Any]


def of_transition(notification: Notification) -> Message:
    """The message about a transition. Its sentence, value and limit are the transition's, because the alert may have
    changed since."""
    transition = notification.transition
    alert = transition.alert
    is_over = transition.after == AlertState.NORMAL
    return _message(
        event="recovered" if is_over else "firing",
        shape=RECOVERED if is_over else SHAPES[alert.severity],
        headline=f"{alert.title} {'has recovered' if is_over else 'is firing'}",
        sentence=transition.message,
        at=transition.at,
        transition=transition,
        rule=alert.rule,
    )


def of_test(rule: AlertRule, *, by: str) -> Message:
    return _message(
        event="test",
        shape="○",
        headline=f"Test of the rule {rule.name}",
        sentence=f"{by} has sent this test from the rule's page. Nothing is wrong.",
        at=timezone.now(),
        transition=None,
        rule=rule,
    )


def _message(
    *,
    event: str,
    shape: str,
    headline: str,
    sentence: str,
    at: datetime,
    transition: AlertTransition | None,
    rule: AlertRule,
) -> Message:
    alert = transition.alert if transition else None
    pages = {
        "alert": links.absolute(links.alert(alert)) if alert else "",
        "calls": links.absolute(links.calls(alert, at)) if alert else "",
        "runbook": links.absolute(links.runbook(rule)),
    }
    shown = {name: url for name, url in pages.items() if url}
    return Message(
        subject=f"[Sluice] {shape} {headline}",
        text="\n".join(
            [
                sentence,
                "",
                f"{at:%Y-%m-%d %H:%M:%S} UTC",
                *(f"{name.capitalize()}: {url}" for name, url in shown.items()),
            ]
        ),
        document=_document(event, sentence, at, transition, rule, shown),
        slack=_slack(f"{shape} {headline}", sentence, shown),
    )


def _document(
    event: str,
    sentence: str,
    at: datetime,
    transition: AlertTransition | None,
    rule: AlertRule,
    pages: Mapping[str, str],
) -> Mapping[str, Any]:
    return {
        "version": 1,
        "event": event,
        "at": at.isoformat(),
        "rule": {"name": rule.name, "kind": rule.kind},
        "alert": _alert(transition.alert, transition) if transition else None,
        "message": sentence,
        "links": dict(pages),
    }


def _alert(alert: Alert, transition: AlertTransition) -> Mapping[str, Any]:
    return {
        "id": alert.pk,
        "subject": alert.subject,
        "severity": alert.severity,
        "value": transition.value,
        "limit": transition.limit,
        "unit": condition_of(alert.rule).declared.unit,
        "since": (alert.fired_at or alert.started_at).isoformat(),
        "tools": [{"name": name, "affected": affected, "calls": calls} for name, affected, calls in alert.tools],
    }


def _slack(headline: str, sentence: str, pages: Mapping[str, str]) -> Mapping[str, Any]:
    named = " · ".join(f"<{url}|{name.capitalize()}>" for name, url in pages.items())
    lines = [f"*{_plain(headline)}*", _plain(sentence), *([named] if named else [])]
    return {"text": "\n".join(lines)}


def _plain(text: str) -> str:
    """Escapes & < >, which Slack reads as markup."""
    return "".join(SLACK_ESCAPES.get(letter, letter) for letter in text)
