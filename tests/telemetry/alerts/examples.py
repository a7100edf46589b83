"""Rules and rounds of checks to test with."""

from datetime import timedelta
from typing import Any

from telemetry.alerts import evaluation
from telemetry.models.alerts import Alert, AlertRule, Channel
from tests.telemetry.examples import NOON, a_call, a_summary, stored

QUIET = timedelta(hours=2)  # longer than any window


def only(kind: str, **changes: Any) -> AlertRule:
    """The shipped rule of this kind, changed and switched on; all others are off."""
    AlertRule.objects.update(is_enabled=False)
    rule = AlertRule.objects.get(shipped_as=kind)
    for name, value in {"is_enabled": True, "follows_settings": False, **changes}.items():
        setattr(rule, name, value)
    rule.save()
    return rule


def traffic(seconds: float, *, calls: int, oversized: int = 0, failed: int = 0, **figures: Any) -> None:
    """`calls` calls, some of them oversized or failed because of the upstream, so many seconds after noon."""
    at = NOON + timedelta(seconds=seconds)
    failure = {"outcome": "error", "origin": "upstream", "error_reason": "upstream_unreachable"}
    stored(
        *[a_call(at=at, **figures)] * (calls - oversized - failed),
        *[a_summary(at=at, **figures)] * oversized,
        *[a_call(at=at, **{**failure, **figures})] * failed,
    )


def check(seconds: float) -> None:
    """One round, so many seconds after noon."""
    assert evaluation.check_alerts(now=NOON + timedelta(seconds=seconds))


def states(subject: str = "") -> list[str]:
    """The states that the only alert of the subject has had."""
    return [each.after for each in Alert.objects.get(subject=subject).transitions.filter(what="state")]


def an_alert(**fields: Any) -> Alert:
    """An alert of the shipped oversized rule that has been firing since noon."""
    firing: dict[str, Any] = {
        "rule": AlertRule.objects.get(shipped_as="oversized_share"),
        "state": "alerting",
        "message": "6 of 100",
        "value": 0.06,
        "peak": 0.2,
        "limit": 0.05,
        "sample": 100,
        "affected": 6,
    }
    times = dict.fromkeys(("since", "started_at", "fired_at", "checked_at"), NOON)
    return Alert.objects.create(**{**firing, **times, **fields})


def a_channel(kind: str = "email", **fields: Any) -> Channel:
    fields = {"name": f"a {kind}", "address": "ops@example.com" if kind == "email" else "", **fields}
    return Channel.objects.create(kind=kind, **fields)
