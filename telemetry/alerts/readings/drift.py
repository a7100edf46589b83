"""The rule on our own count of Claude's tokens, which becomes wrong if Claude's tokenizer changes (FR-014).

It looks at the median of the newest audits of each class of texts, so that a few unusual texts do not fire it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telemetry import audits
from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition

NEWEST = 50  # audits that are used per class, or as many as the rule needs
NAMED_CLASSES = 5


@dataclass(frozen=True, slots=True)
class Drift:
    """The median ratio of our counts to the actual ones in a class: 1.08 means 8 % too high."""

    text_class: str
    ratio: float
    audits: int

    @property
    def off(self) -> float:
        return abs(self.ratio - 1)


def read(condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    return [reading(measured(condition.minimum), condition)]


def measured(minimum: int) -> list[Drift]:
    """Every class with at least `minimum` audits, the one with the largest error first."""
    found = []
    for text_class in audits.classes():
        newest = audits.figures(audits.newest_of_class(text_class, max(NEWEST, minimum)))
        if newest.count >= minimum and newest.claude_ratio is not None:
            found.append(Drift(text_class, newest.claude_ratio, newest.count))
    return sorted(found, key=lambda drift: -drift.off)


def reading(seen: Sequence[Drift], condition: RuleCondition) -> Reading:
    return Reading(
        subject="",
        value=seen[0].off if seen else None,
        limit=condition.limit,
        recovery=condition.recovery,
        message=_sentence(seen, condition),
        sample=sum(drift.audits for drift in seen),
        affected=sum(drift.audits for drift in seen if drift.off > condition.limit),
    )


def _sentence(seen: Sequence[Drift], condition: RuleCondition) -> str:
    if not seen:
        return f"Fewer than {max(1, condition.minimum):,} full counts per class: nothing to judge."
    limit = words.amount(condition.limit, condition.declared.unit)
    off = [drift for drift in seen if drift.off > condition.recovery]
    if not off:
        return f"Our counts of Claude's tokens are within {limit} of the full counts."
    named = ", ".join(f"{drift.text_class} {drift.ratio - 1:+.1%}" for drift in off[:NAMED_CLASSES])
    return f"Our counts of Claude's tokens differ from the full counts by a median of {named} (limit {limit})."
