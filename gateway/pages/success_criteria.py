"""The success criteria of the NSIP tools (SC-001, 002, 003, 006, 007), each with the figure it is judged by.

A criterion without measurements is null: neither met nor missed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gateway.connectors.nsip.connector import NAME
from gateway.connectors.nsip.shapes import TARGET_REDUCTION
from gateway.mcp.discovery import slowest
from gateway.process.start_time import start
from gateway.upstreams.registry import upstreams
from telemetry import queries
from telemetry.call_figures import CallFigures
from telemetry.measurement import CallOutcome
from telemetry.queries import Selection, Span

PERIOD = timedelta(hours=24)
INVALID = ("invalid_", "missing_", "unknown_argument")  # how the reasons of calls with invalid arguments begin


@dataclass(frozen=True, slots=True)
class SuccessCriterion:
    """`n`: how many measurements the figure has. `at_least`: whether the target is a minimum."""

    name: str
    what: str
    value: float | None
    target: float
    n: int
    at_least: bool = True

    @property
    def is_met(self) -> bool | None:
        if self.value is None or not self.n:
            return None
        return self.value >= self.target if self.at_least else self.value < self.target

    def document(self) -> dict[str, Any]:
        value = None if self.value is None or not self.n else round(self.value, 4)
        return {"what": self.what, "value": value, "target": self.target, "n": self.n, "isMet": self.is_met}


def document(now: datetime) -> dict[str, Any]:
    """The criteria for /health. Raises DatabaseError."""
    found = list(criteria(now))
    return {
        "meets_success_criteria": {each.name: each.is_met for each in found},
        "successCriteria": {each.name: each.document() for each in found},
    }


def criteria(now: datetime) -> Iterator[SuccessCriterion]:
    yield SuccessCriterion("SC-001", "slowest tool list, seconds", slowest.seconds, 5.0, slowest.count, at_least=False)
    found = _by_outcome_and_reason(now)
    summaries = [figures for (outcome, _), figures in found.items() if outcome == CallOutcome.SUMMARIZED]
    summarized = sum(each.calls for each in summaries)
    yield SuccessCriterion(
        "SC-002", "tokens left out by summaries, share", _reduction(summaries), TARGET_REDUCTION, summarized
    )
    calls = sum(each.calls for each in found.values())
    invalid = sum(each.calls for (_, reason), each in found.items() if reason.startswith(INVALID))
    yield SuccessCriterion(
        "SC-003", "calls with valid arguments, share", 1 - invalid / calls if calls else None, 0.95, calls
    )
    state = next((each.state() for each in upstreams.all() if each.name == NAME), None)
    looked = state.hits + state.misses if state else 0
    yield SuccessCriterion("SC-006", "answers from the cache, share", state.hit_rate if state else None, 0.4, looked)
    yield SuccessCriterion(
        "SC-007", "start, seconds", start.seconds, 3.0, int(start.seconds is not None), at_least=False
    )


def _by_outcome_and_reason(now: datetime) -> dict[tuple[str, str], CallFigures]:
    tools = Selection.of({"tool": [f"{NAME}_*"]})
    found = queries.groups(Span.of(now - PERIOD, now), tools, by=("outcome", "reason"), wanted=queries.SUMS)
    return {(each.values[0], each.values[1]): each.figures for each in found}


def _reduction(summaries: Sequence[CallFigures]) -> float | None:
    original, sent = (sum(each.total(name) for each in summaries) for name in ("original_tokens", "estimated_tokens"))
    return 1 - sent / original if original else None
