"""The clients of a key, and their sequences of calls."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q

from telemetry.measurement import CallOutcome
from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span

GAP = timedelta(minutes=5)  # without a call for so long, a sequence has ended
NEWEST = 2000  # calls that sequences are made of
SEQUENCES = 50
# The columns of a RunCall.
RUN_CALL = (
    "client",
    "client_version",
    "transport",
    "created_at",
    "request_id",
    "operation",
    "outcome",
    "claude_tokens",
    "estimated_tokens",
)
CLIENT = ("client", "client_version", "protocol", "transport")


@dataclass(frozen=True, slots=True)
class ClientUsage:
    name: str
    version: str
    protocol: str
    transport: str
    calls: int
    errors: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class RunCall:
    """A call as a sequence shows it."""

    client: str
    version: str
    transport: str
    at: datetime
    request_id: str
    tool: str
    outcome: str
    claude_tokens: int
    estimated_tokens: int

    @property
    def is_failed(self) -> bool:
        return self.outcome == CallOutcome.ERROR


@dataclass(frozen=True, slots=True)
class Run:
    """Calls of one client that followed each other, oldest first."""

    calls: tuple[RunCall, ...]

    @property
    def client(self) -> str:
        return f"{self.calls[0].client} {self.calls[0].version}".strip()

    @property
    def tokens(self) -> int:
        return sum(call.claude_tokens or call.estimated_tokens for call in self.calls)

    @property
    def errors(self) -> int:
        return sum(call.is_failed for call in self.calls)

    @property
    def tools(self) -> int:
        return len({call.tool for call in self.calls})


def clients(span: Span, selection: Selection) -> tuple[ClientUsage, ...]:
    """The clients of the selected calls, the last used first."""
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
    return tuple(ClientUsage(*row) for row in rows.order_by("-last")[:100])


def sequences(span: Span, selection: Selection) -> tuple[Run, ...]:
    """The sequences of the selected calls, the newest first."""
    rows: Any = select(span, selection).order_by("-created_at", "-pk").values_list(*RUN_CALL)
    by_client: dict[tuple[str, ...], list[list[RunCall]]] = {}
    for call in (RunCall(*row) for row in reversed(rows[:NEWEST])):
        runs = by_client.setdefault((call.client, call.version, call.transport), [])
        if not runs or call.at - runs[-1][-1].at >= GAP:
            runs.append([])
        runs[-1].append(call)
    found = [Run(tuple(run)) for runs in by_client.values() for run in runs]
    return tuple(sorted(found, key=lambda run: run.calls[-1].at, reverse=True)[:SEQUENCES])
