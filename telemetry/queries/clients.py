"""What used a key: its clients, and their sequences of calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q

from telemetry.measurement import CallOutcome
from telemetry.models.calls import TelemetryRecord
from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span

GAP = timedelta(minutes=5)  # without a call for so long, a sequence has ended
NEWEST = 2000  # calls that sequences are made of
SEQUENCES = 50
CLIENT = ("client", "client_version", "protocol", "transport")


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    version: str
    protocol: str
    transport: str
    calls: int
    errors: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """Calls of one client that followed each other, oldest first."""

    client: str
    calls: tuple[TelemetryRecord, ...]
    tokens: int
    errors: int
    tools: int

    @property
    def first_at(self) -> datetime:
        return self.calls[0].measurement.at

    @property
    def last_at(self) -> datetime:
        return self.calls[-1].measurement.at


def clients(span: Span, selection: Selection) -> tuple[Client, ...]:
    """The last used first."""
    rows: Any = (
        select(span, selection)
        .values_list(*CLIENT)
        .annotate(
            n=Count("pk"),
            failed=Count("pk", filter=Q(outcome=CallOutcome.ERROR)),
            first=Min("created_at"),
            last=Max("created_at"),
        )
    )
    return tuple(Client(*row) for row in rows.order_by("-last")[:100])


def sequences(span: Span, selection: Selection) -> tuple[Run, ...]:
    """The newest first."""
    newest = select(span, selection).order_by("-created_at", "-pk")[:NEWEST]
    by_client: dict[tuple[Any, ...], list[list[TelemetryRecord]]] = {}
    for record in reversed(newest):
        call = record.measurement
        runs = by_client.setdefault((call.client, call.client_version, call.transport), [])
        if not runs or call.at - runs[-1][-1].measurement.at >= GAP:
            runs.append([])
        runs[-1].append(record)
    found = [_sequence(run) for runs in by_client.values() for run in runs]
    return tuple(sorted(found, key=lambda each: each.last_at, reverse=True)[:SEQUENCES])


def _sequence(records: Sequence[TelemetryRecord]) -> Run:
    calls = [record.measurement for record in records]
    return Run(
        client=f"{calls[0].client} {calls[0].client_version}".strip(),
        calls=tuple(records),
        tokens=sum(call.claude_tokens or call.estimated_tokens for call in calls),
        errors=sum(call.outcome == CallOutcome.ERROR for call in calls),
        tools=len({call.operation for call in calls}),
    )
