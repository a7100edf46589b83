"""Raises an alert when our token count drifts away from Claude's: its tokenizer may have changed (FR-014).

The check uses the median of the newest audits of each class of texts, so that a few unusual texts do not raise it.
"""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from telemetry import audits
from telemetry.alerts import Sighting, Verdict, settle
from telemetry.models import Alert

LINE = 0.05  # a median error above this is a drift
RECOVERED = 0.04  # an alert clears at this error or below; lower than LINE, so that it does not flap
NEWEST = 50  # audits that are used per class
ENOUGH = 20  # with fewer audits a class is ignored


@dataclass(frozen=True, slots=True)
class Drift:
    """The median ratio of our counts to the actual ones in a class: 1.08 means 8 % too high."""

    text_class: str
    ratio: float
    audits: int

    @property
    def off(self) -> float:
        return abs(self.ratio - 1)


def check(*, now: datetime | None = None) -> Verdict:
    """Evaluates the newest audits; opens, updates or clears the alert."""
    seen = measured()
    return settle(
        Alert.AlertKind.TOKEN_DRIFT, _sighting(seen), now or timezone.now(), lambda is_open: judge(seen, is_open)
    )


def measured() -> list[Drift]:
    """Every class with enough audits, the one with the largest error first."""
    found = []
    for text_class in audits.classes():
        newest = audits.figures(audits.newest_of_class(text_class, NEWEST))
        if newest.count >= ENOUGH and newest.claude_ratio is not None:
            found.append(Drift(text_class, newest.claude_ratio, newest.count))
    return sorted(found, key=lambda drift: -drift.off)


def judge(seen: list[Drift], alert_is_open: bool) -> Verdict:
    """The rule as a pure function. `seen` has the class with the largest error first."""
    furthest = seen[0].off if seen else 0.0
    if alert_is_open:
        return Verdict.CLEAR if furthest <= RECOVERED else Verdict.KEEP
    return Verdict.RAISE if furthest > LINE else Verdict.QUIET


def _sighting(seen: list[Drift]) -> Sighting:
    return Sighting(
        message=_sentence(seen),
        share=seen[0].off if seen else 0.0,
        line=LINE,
        seen=sum(drift.audits for drift in seen),
        advice="Answers may be nearer to the hard cap than they seem. Lower the hard cap until the tokenizer is "
        "brought up to date; the admin's token audits show which classes of texts are affected.",
    )


def _sentence(seen: list[Drift]) -> str:
    off = [drift for drift in seen if drift.off > RECOVERED]
    if not off:
        return f"our counts of Claude's tokens are within {LINE:.0%} of the full counts."
    named = ", ".join(f"{drift.text_class} {drift.ratio - 1:+.1%}" for drift in off[:5])
    told = f"our counts of Claude's tokens differ from the full counts by a median of: {named}"
    return f"{told}; the alert line is {LINE:.0%}."
