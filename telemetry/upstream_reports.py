"""What all processes report about each upstream, merged: the worst breaker state, the last success and failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from telemetry import processes

BREAKERS = ("closed", "half-open", "open")  # from best to worst


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """An upstream's answer to a probe, a request that no call caused. `status` 0: no answer."""

    at: datetime
    is_ok: bool
    ms: float
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class UpstreamReport:
    """`rate_left` and `rate_limit` are those of the process that has the least left; None: no limit."""

    name: str
    connector: str
    breaker: str
    last_success_at: datetime | None
    last_failure_at: datetime | None
    last_failure: str
    rate_left: int | None
    rate_limit: int | None
    next_try_in: float | None  # seconds
    probe: ProbeReport | None  # the newest of any process

    @property
    def has_failed_last(self) -> bool:
        """Whether nothing was answered since the last failure. Probes do not count."""
        failed, answered = self.last_failure_at, self.last_success_at
        return failed is not None and (answered is None or failed > answered)


def upstream_reports() -> Mapping[str, UpstreamReport]:
    """The reports of the running processes, by upstream."""
    return reports_by_upstream([process.report for process in processes.alive()])


def reports_by_upstream(reports: Sequence[Mapping[str, Any]]) -> Mapping[str, UpstreamReport]:
    """The given reports, merged by upstream."""
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for report in reports:
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
        probe=_newest_probe(reports),
    )


def probe_of(answer: Mapping[str, Any]) -> ProbeReport:
    return ProbeReport(
        datetime.fromisoformat(answer["at"]),
        bool(answer["ok"]),
        float(answer.get("ms") or 0),
        int(answer.get("status") or 0),
        str(answer.get("message") or ""),
    )


def _newest_probe(reports: list[Mapping[str, Any]]) -> ProbeReport | None:
    known = [each["probe"] for each in reports if each.get("probe")]
    return probe_of(max(known, key=lambda each: each["at"])) if known else None


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
