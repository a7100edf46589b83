"""The reasons of failed calls. Read from the calls themselves, for the first, the last and an example."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min

from telemetry.measurement import CallOutcome
from telemetry.models.calls import TelemetryRecord
from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span


@dataclass(frozen=True, slots=True)
class Reason:
    """Failed calls with one reason and origin. `request_id` and `message` are those of the last one."""

    reason: str
    origin: str
    calls: int
    first_at: datetime
    last_at: datetime
    request_id: str
    message: str


def reasons(span: Span, selection: Selection, at_most: int = 50) -> tuple[Reason, ...]:
    """The reasons of the selected calls, the most frequent first."""
    failed = select(span, selection).filter(outcome=CallOutcome.ERROR)
    found = failed.values("error_reason", "origin").annotate(
        calls=Count("pk"), first=Min("created_at"), last=Max("created_at"), example=Max("pk")
    )
    rows = list(found.order_by("-calls", "error_reason")[:at_most])
    examples = TelemetryRecord.objects.in_bulk([row["example"] for row in rows])
    return tuple(
        Reason(
            row["error_reason"],
            row["origin"],
            row["calls"],
            row["first"],
            row["last"],
            examples[row["example"]].measurement.request_id,
            examples[row["example"]].measurement.error_message,
        )
        for row in rows
    )
