"""The reasons of failed calls, read from the calls themselves: rollups lack the first time, the last and an example."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from telemetry.measurement import CallOutcome
from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span

NEWEST = 5_000  # failed calls that are read


@dataclass(slots=True)
class Reason:
    """Failed calls with one reason and origin. `request_id` and `message` are those of the last call. Updated while the
    calls are read, the newest first."""

    reason: str
    origin: str
    calls: int
    first_at: datetime
    last_at: datetime
    request_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """The most frequent first. `is_cut`: only the NEWEST failed calls were looked at."""

    reasons: tuple[Reason, ...]
    is_cut: bool


def reasons(span: Span, selection: Selection, at_most: int = 50) -> Reasons:
    failed = select(span, selection).filter(outcome=CallOutcome.ERROR).order_by("-created_at", "-pk")
    rows: Any = failed.values_list("error_reason", "origin", "created_at", "request_id", "error_message")
    found: dict[tuple[str, str], Reason] = {}
    newest = list(rows[: NEWEST + 1])
    for reason, origin, at, request_id, message in newest[:NEWEST]:
        known = found.setdefault((reason, origin), Reason(reason, origin, 0, at, at, request_id, message))
        known.calls += 1
        known.first_at = at
    ranked = sorted(found.values(), key=lambda each: (-each.calls, each.reason))
    return Reasons(tuple(ranked[:at_most]), is_cut=len(newest) > NEWEST)
