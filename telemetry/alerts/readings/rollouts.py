"""The rule on rollouts that were rolled back by their guardrails. It fires for its window, so that somebody sees it."""

from collections.abc import Sequence
from datetime import datetime

from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition
from telemetry.models import Event

ROLLED_BACK = "rolled_back"  # the rollout's new state in the event


def read(condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    found = Event.objects.filter(
        kind=Event.EventKind.CHANGE,
        subject_type="rollout",
        after=ROLLED_BACK,
        at__gt=now - condition.window,
        at__lte=now,
    )
    newest = found.first()
    nothing = f"No rollout was rolled back for {words.span(condition.window)}."
    return [
        Reading(
            subject="",
            value=1.0 if newest else 0.0,
            limit=condition.limit,
            recovery=condition.recovery,
            message=f"{newest.subject}: {newest.reason}" if newest else nothing,
            sample=found.count(),
            affected=found.count(),
        )
    ]
