"""The reports of the running processes, merged: the slowest store, the recorder that is furthest behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from telemetry.processes import alive, recorder_lag
from telemetry.upstream_reports import UpstreamReport, reports_by_upstream

LOST_FOR = timedelta(minutes=15)  # lost calls are shown for this long


@dataclass(frozen=True, slots=True)
class Store:
    """A database or Redis. `ms`: the slowest ping of any process. `pool`: its connections in use, and its size."""

    is_ok: bool
    ms: float
    pool: tuple[int, int] | None = None
    has_room: bool = True


@dataclass(frozen=True, slots=True)
class Recorder:
    """`lost`: the calls lost by those processes whose latest loss is within LOST_FOR, or has no known time."""

    lag_seconds: float
    lost: int
    lost_at: datetime | None


@dataclass(frozen=True, slots=True)
class Processes:
    """A field is None if no process reports it. `started_at`: when the oldest process started."""

    count: int = 0
    started_at: datetime | None = None
    database: Store | None = None
    redis: Store | None = None
    recorder: Recorder | None = None
    upstreams: Mapping[str, UpstreamReport] = field(default_factory=dict)


Reports = Sequence[Mapping[str, Any]]


def processes(now: datetime) -> Processes:
    """The merged reports of the running processes."""
    running = alive(now=now)
    reports = [process.report for process in running]
    stores = [report["stores"] for report in reports if "stores" in report]
    return Processes(
        count=len(reports),
        started_at=min((process.started_at for process in running), default=None),
        database=_store([(each["database"], each.get("room", True)) for each in stores if each.get("database")]),
        redis=_store([(each["redis"], True) for each in stores if each.get("redis")]),
        recorder=_recorder(
            [report["recorder"] for report in reports if "recorder" in report], now, recorder_lag(running, now=now)
        ),
        upstreams=reports_by_upstream(reports),
    )


def _store(found: Sequence[tuple[Mapping[str, Any], bool]]) -> Store | None:
    if not found:
        return None
    pools = [(each["poolUsed"], each["poolSize"]) for each, _ in found if each.get("poolSize")]
    return Store(
        is_ok=all(each["ok"] for each, _ in found),
        ms=max(each.get("ms") or 0 for each, _ in found),
        pool=max(pools, key=lambda each: each[0] / each[1], default=None),
        has_room=all(room for _, room in found),
    )


def _recorder(reports: Reports, now: datetime, lag_seconds: float) -> Recorder | None:
    if not reports:
        return None
    moments = [(each.get("dropped") or 0, _moment(each.get("lastDroppedAt"))) for each in reports]
    lost = [(count, at) for count, at in moments if count and (at is None or now - at <= LOST_FOR)]
    return Recorder(
        lag_seconds=lag_seconds,
        lost=sum(count for count, _ in lost),
        lost_at=max((at for _, at in lost if at), default=None),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
