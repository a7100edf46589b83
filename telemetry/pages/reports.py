"""What the processes say about upstreams, merged: the worst breaker, the last success and failure of any of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from telemetry.models import ProcessReport

FRESH = timedelta(seconds=30)  # a process that has not reported for so long has ended or hangs
BREAKERS = ("closed", "half-open", "open")  # from best to worst


@dataclass(frozen=True, slots=True)
class UpstreamReport:
    """`rate_left` of `rate_limit`: the least of all processes; None: no limit."""

    name: str
    connector: str
    breaker: str
    last_success_at: datetime | None
    last_failure_at: datetime | None
    last_failure: str
    rate_left: int | None
    rate_limit: int | None
    next_try_in: float | None  # seconds
    processes: int


def upstream_reports() -> Mapping[str, UpstreamReport]:
    """By name, of the processes that run."""
    fresh = ProcessReport.objects.filter(seen_at__gte=timezone.now() - FRESH)
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for report in fresh.values_list("report", flat=True):
        for upstream in report.get("upstreams", ()):
            seen.setdefault(upstream["name"], []).append(upstream)
    return {name: _merged(name, of_processes) for name, of_processes in sorted(seen.items())}


def _merged(name: str, reports: list[Mapping[str, Any]]) -> UpstreamReport:
    worst = max(reports, key=lambda each: BREAKERS.index(each["breaker"]))
    failed = max(reports, key=lambda each: each.get("lastFailureAt") or "")
    limited = [each for each in reports if each.get("rateLimit")]
    least = min(limited, key=lambda each: each["rateLeft"], default={})
    return UpstreamReport(
        name=name,
        connector=worst.get("connector", ""),
        breaker=worst["breaker"],
        last_success_at=_moment(max(each.get("lastSuccessAt") or "" for each in reports)),
        last_failure_at=_moment(failed.get("lastFailureAt") or ""),
        last_failure=failed.get("lastFailure") or "",
        rate_left=least.get("rateLeft"),
        rate_limit=least.get("rateLimit"),
        next_try_in=worst.get("nextTryInSeconds"),
        processes=len(reports),
    )


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
