"""When our token count moves away from Claude's, say so: the vocabulary may have changed under us (FR-014).

Of each class of texts the newest audits are looked at; their median tells a drift from a few odd texts.
"""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from telemetry import audits
from telemetry.alerts import Sighting, Verdict, settle
from telemetry.models import Alert

LINE = 0.05  # a median further off than that is a drift
RECOVERED = 0.04  # at most so far off, an alert is over: on the line it must not flap
NEWEST = 50  # audits of a class
ENOUGH = 20  # fewer say nothing


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the median of a class is from the actual counts: 1.08 counts 8 % too much."""

    text_class: str
    ratio: float
    audits: int

    @property
    def off(self) -> float:
        return abs(self.ratio - 1)


def check(*, now: datetime | None = None) -> Verdict:
    """Looks at the newest audits; opens, updates or clears the alert."""
    seen = measured()
    return settle(Alert.Kind.TOKEN_DRIFT, _sighting(seen), now or timezone.now(), lambda is_open: judge(seen, is_open))


def measured() -> list[Drift]:
    """Every class with enough audits, the one that is furthest off first."""
    found = []
    for text_class in audits.classes():
        newest = audits.figures(audits.newest_of_class(text_class, NEWEST))
        if newest.count >= ENOUGH and newest.claude_ratio is not None:
            found.append(Drift(text_class, newest.claude_ratio, newest.count))
    return sorted(found, key=lambda drift: -drift.off)


def judge(seen: list[Drift], alert_is_open: bool) -> Verdict:
    """The rule itself, over `seen` from the furthest off on: no clock, no database."""
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
        return f"our token counts are within {LINE:.0%} of the actual ones."
    named = ", ".join(f"{drift.text_class} {drift.ratio - 1:+.1%}" for drift in off[:5])
    return f"our token counts differ from the actual ones by a median of: {named}; the alert line is {LINE:.0%}."
