"""The readings that the lights are computed from."""

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from telemetry import facts
from telemetry.lights.checker import Checker, checker
from telemetry.lights.processes import Processes, processes
from telemetry.queries.recent import Recent, Usual, recent, usual


@dataclass(frozen=True, slots=True)
class Readings:
    """`upstreams`: the names of the connected upstreams."""

    now: datetime
    processes: Processes = field(default_factory=Processes)
    recent: Recent = field(default_factory=Recent)
    usual: Usual = field(default_factory=Usual)
    alerting: Checker = field(default_factory=Checker)
    upstreams: frozenset[str] = frozenset()


def read() -> Readings:
    now = timezone.now()
    return Readings(now, processes(now), recent(now), usual(now), checker(), frozenset(facts.upstreams.all()))
