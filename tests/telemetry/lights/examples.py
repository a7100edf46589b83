"""Readings to decide lights by: all is well, unless a test says otherwise."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from telemetry.lights.checker import Checker
from telemetry.lights.processes import Processes, Recorder, Store
from telemetry.lights.readings import Readings
from telemetry.queries.recent import Counted, Recent, Usual
from telemetry.upstream_reports import ProbeReport, UpstreamReport
from tests.telemetry.examples import NOON

WELL = Readings(
    now=NOON,
    processes=Processes(
        count=2,
        database=Store(is_ok=True, ms=2, pool=(3, 20)),
        redis=Store(is_ok=True, ms=1),
        recorder=Recorder(lag_seconds=0.8, lost=0, lost_at=None),
    ),
    usual=Usual({"acme": 200.0}, own_mean=10.0),
    alerting=Checker(NOON - timedelta(seconds=12), 9),
    upstreams=frozenset({"acme"}),
)


def a_report(
    breaker: str = "closed",
    *,
    probe: ProbeReport | None = None,
    success: datetime | None = None,
    failure: datetime | None = None,
) -> UpstreamReport:
    return UpstreamReport(
        name="acme",
        connector="http",
        breaker=breaker,
        last_success_at=success,
        last_failure_at=failure,
        last_failure="",
        rate_left=None,
        rate_limit=None,
        next_try_in=None,
        probe=probe,
    )


def with_report(report: UpstreamReport, readings: Readings = WELL) -> Readings:
    return replace(readings, processes=replace(readings.processes, upstreams={report.name: report}))


def with_processes(**changes: Any) -> Readings:
    return replace(WELL, processes=replace(WELL.processes, **changes))


def with_calls(*rows: Counted, p95: float | None = None, readings: Readings = WELL) -> Readings:
    return replace(readings, recent=Recent(rows, {"acme": p95}))


def counted(calls: int, origin: str = "", *, minute: int = 0, upstream: str = "acme", own_ms: float = 0) -> Counted:
    return Counted(minute, upstream, origin, calls, own_ms)
