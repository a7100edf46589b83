"""The figures of a server with several workers. Each worker shows the sums over all workers and their parent, which
runs the tasks. A single process shows its own figures.

A worker that does not answer in time is left out. The counters of a replaced worker start again at 0, which Prometheus
handles as a restart.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from context_protection.breaker import State
from context_protection.core.cache_budget import cache_budget
from gateway.dispatch import audit
from gateway.process import place
from gateway.upstreams.client import UpstreamState
from gateway.upstreams.registry import upstreams
from gateway.workers import peers
from telemetry import recorder
from telemetry.metrics import metrics_text

HEALTH, METRICS = "health", "metrics"  # questions to the other workers
WORST_FIRST: tuple[State, ...] = ("open", "half-open", "closed")


@dataclass(frozen=True)
class ServerProcess:
    """One process of this server. `worker`: its number; 0 is the parent, or a single process."""

    worker: int
    pid: int
    stored: int


@dataclass(frozen=True)
class ServerFigures:
    """The sums of what the processes of this server count in memory."""

    processes: Sequence[ServerProcess]
    upstreams: Sequence[UpstreamState]
    queued: int
    stored: int
    dropped: int
    lag_seconds: float  # of the process that is furthest behind
    audits_dropped: int
    provider_failures: int
    cache_limit: int  # bytes
    cache_used: Mapping[str, int]  # cache name → bytes in use

    @property
    def workers(self) -> Sequence[ServerProcess]:
        """The worker processes, which answer requests; none if this process is alone."""
        return [each for each in self.processes if each.worker != place.PARENT]


def server_figures() -> ServerFigures:
    """Blocks."""
    answers = [_health(), *peers.answers_of_others(HEALTH)]
    states = [UpstreamState(**each) for answer in answers for each in answer["upstreams"]]
    recorders = [each["recorder"] for each in answers]
    return ServerFigures(
        processes=sorted((ServerProcess(**each["process"]) for each in answers), key=lambda each: each.worker),
        upstreams=_merged(states),
        queued=sum(each["queued"] for each in recorders),
        stored=sum(each["stored"] for each in recorders),
        dropped=sum(each["dropped"] for each in recorders),
        lag_seconds=max(each["lag_seconds"] for each in recorders),
        audits_dropped=sum(each["audits"]["dropped"] for each in answers),
        provider_failures=sum(each["audits"]["provider_failures"] for each in answers),
        cache_limit=sum(each["caches"]["limit"] for each in answers),
        cache_used=sum((Counter(each["caches"]["used"]) for each in answers), Counter()),
    )


def server_metrics() -> tuple[bytes, str]:
    """Body and content type, in Prometheus's text format. Blocks."""
    text, content_type = metrics_text()
    others = peers.answers_of_others(METRICS)
    return (summed([text, *others]) if others else text), content_type


# -- The answers of one process -----------------------------------------------------------------------


def _health() -> dict[str, Any]:
    state, audits = recorder.state(), audit.state()
    return {
        "process": asdict(ServerProcess(place.number(), os.getpid(), state.stored)),
        "upstreams": [asdict(each.state()) for each in upstreams.all()],
        "recorder": {name: getattr(state, name) for name in ("queued", "stored", "dropped", "lag_seconds")},
        "audits": {"dropped": audits.dropped, "provider_failures": audits.provider_failures},
        "caches": {"limit": cache_budget.most_bytes, "used": cache_budget.used_by_cache()},
    }


def _metrics() -> bytes:
    return metrics_text()[0]


def answer_other_processes() -> None:
    """Called once at the start."""
    peers.answer_with(HEALTH, _health)
    peers.answer_with(METRICS, _metrics)


# -- Upstreams ----------------------------------------------------------------------------------------


def _merged(states: Iterable[UpstreamState]) -> list[UpstreamState]:
    """One state for each upstream: the worst breaker, the last success and failure, the sum of the calls."""
    by_name: dict[str, list[UpstreamState]] = {}
    for state in states:
        by_name.setdefault(state.name, []).append(state)
    return [_one(each) if len(each) > 1 else each[0] for each in by_name.values()]


def _one(states: Sequence[UpstreamState]) -> UpstreamState:
    last_failed = max(states, key=lambda each: each.last_failure_at or 0.0)
    left = [each.rate_left for each in states if each.rate_left is not None]
    return UpstreamState(
        name=states[0].name,
        breaker=min((each.breaker for each in states), key=WORST_FIRST.index),
        last_success_at=max((each.last_success_at for each in states if each.last_success_at), default=None),
        last_failure_at=last_failed.last_failure_at,
        last_failure=last_failed.last_failure,
        rate_left=min(left, default=None),
        calls=sum(each.calls for each in states),
        hits=sum(each.hits for each in states),
        misses=sum(each.misses for each in states),
        connector=states[0].connector,
        rate_limit=states[0].rate_limit,
        next_try_seconds=max(each.next_try_seconds for each in states),
    )


# -- Metrics ------------------------------------------------------------------------------------------

Fold = Callable[[float, float], float]


def _first(one: float, other: float) -> float:
    return one


# How the values of several processes become one. All other series are added up.
FOLDS: dict[str, Fold] = {
    "process_max_fds": min,
    "process_start_time_seconds": min,
    "sluice_alerts": _first,
    "sluice_telemetry_lag_seconds": max,
    "sluice_upstream_breaker": _first,
    "sluice_upstream_last_failure_timestamp_seconds": max,
    "sluice_upstream_last_success_timestamp_seconds": max,
    "sluice_upstream_rate_left": min,
}


def _plus(one: float, other: float) -> float:
    return one + other


def summed(texts: Sequence[bytes]) -> bytes:
    """The metrics of several processes as those of one."""
    families: dict[str, _Family] = {}
    for text in texts:
        family = _Family([], _plus, {})
        for line in text.decode().splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                family = families.setdefault(name, _Family([], FOLDS.get(name, _plus), {}))
            if line.startswith("#"):
                family.note(line)
            elif line:
                family.add(*line.rsplit(" ", 1))
    return "\n".join((*(line for family in families.values() for line in family.lines()), "")).encode()


@dataclass
class _Family:
    """The series of one name. `head`: its help and type."""

    head: list[str]
    fold: Fold
    series: dict[str, float]

    def note(self, line: str) -> None:
        if line not in self.head:
            self.head.append(line)

    def add(self, name: str, value: str) -> None:
        known = self.series.get(name)
        self.series[name] = float(value) if known is None else self.fold(known, float(value))

    def lines(self) -> Iterable[str]:
        yield from self.head
        for name, value in self.series.items():
            yield f"{name} {value!r}"
