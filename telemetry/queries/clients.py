"""The clients of a key, and their sequences of calls."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from telemetry.measurement import CallOutcome
from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span

GAP = timedelta(minutes=5)  # a sequence ends if no call follows within this time
NEWEST = 2000  # calls that sequences are built from
CLIENT_CALLS = 10_000  # the newest calls that clients are counted over
SEQUENCES = 50
MOST = 100  # clients
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


@dataclass(slots=True)
class ClientUsage:
    """Updated while the client's calls are read, the newest first."""

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


@dataclass(frozen=True, slots=True)
class Clients:
    """`clients`: the last used first. `is_cut`: only the newest CLIENT_CALLS calls were looked at."""

    clients: tuple[ClientUsage, ...]
    is_cut: bool


def clients(span: Span, selection: Selection) -> Clients:
    columns = (*CLIENT, "outcome", "created_at")
    rows: Any = list(select(span, selection).order_by("-created_at").values_list(*columns)[: CLIENT_CALLS + 1])
    found: dict[tuple[str, ...], ClientUsage] = {}
    for name, version, protocol, transport, outcome, at in rows[:CLIENT_CALLS]:
        key = (name, version, protocol, transport)
        known = found.setdefault(key, ClientUsage(*key, 0, 0, at, at))
        known.calls += 1
        known.errors += outcome == CallOutcome.ERROR
        known.first_at = at
    return Clients(tuple(found.values())[:MOST], is_cut=len(rows) > CLIENT_CALLS)


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
