"""The Prometheus counters of calls. The writer thread updates them, so they cost the hot path nothing.

They count the calls of this process since it started; Prometheus sums over processes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, disable_created_metrics

from telemetry.measurement import FIGURES, Measurement
from telemetry.series import Family, HistogramFamily

OTHER = "_other"
# The buckets of OpenTelemetry's mcp.server.operation.duration.
LATENCY_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

disable_created_metrics()  # type: ignore[no-untyped-call]  # else each counter has a second series
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

CALLS = Family("sluice_calls", "Calls answered.", ("operation", "outcome", "transport"))
CLIENT_CALLS = Family("sluice_client_calls", "Calls by the program that the client reports to be.", ("client",))
FAILED = Family(
    "sluice_failed_calls",
    "Calls answered with an error, by the reason in the answer and by who has to act: sluice, upstream, caller or "
    "policy.",
    ("operation", "reason", "origin"),
)
SAVED = Family(
    "sluice_net_saved_tokens",
    "Baseline tokens minus sent tokens since the start, by the formula. It falls with each follow-up call.",
    ("operation",),
    kind="gauge",
)
LATENCY = HistogramFamily(
    "sluice_call_duration_seconds", "From a call's arrival to its answer.", ("operation",), LATENCY_BUCKETS
)
AUDITS = Counter(
    "sluice_token_audits",
    "Audited answers, by whether Claude's count was within 10 % of the full count, and the formula's estimate within "
    "20 %.",
    ("claude_within_10_percent", "estimate_within_20_percent"),
    registry=REGISTRY,
)
REJECTED_CALLS = Counter(
    "sluice_rejected_calls",
    "Calls rejected before their operation ran. In a flood, only some of them are recorded.",
    ("reason", "transport"),
    registry=REGISTRY,
)
REJECTED_KEYS = Counter("sluice_rejected_keys", "Calls whose key was refused.", ("transport",), registry=REGISTRY)


class BoundedLabels:
    """Limits a label to its first `most` values; all further ones become OTHER. Makes values valid UTF-8."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: set[str] = set()

    def of(self, value: str) -> str:
        value = value.encode("utf-8", "replace").decode()
        if value not in self._known:
            if len(self._known) >= self.most:
                return OTHER
            self._known.add(value)
        return value


MOST_NAMES = 2_000
operations = BoundedLabels(MOST_NAMES)  # each has about 45 series
transports = BoundedLabels(20)
reasons = BoundedLabels(200)
clients = BoundedLabels(MOST_NAMES)  # clients choose their names


@dataclass(frozen=True, slots=True)
class FigureCounter:
    """Adds up one figure of every call."""

    name: str
    counter: Family
    labels: tuple[str, ...]  # in addition to the operation


def _figure_counters() -> Iterator[FigureCounter]:
    counters: dict[str, Family] = {}
    for name, figure in FIGURES.items():
        if metric := figure.metric:
            labels = ("operation", "kind") if metric.kind else ("operation",)
            if metric.name not in counters:
                counters[metric.name] = Family(metric.name, metric.help, labels)
            yield FigureCounter(name, counters[metric.name], (metric.kind,) if metric.kind else ())


FIGURE_COUNTERS = tuple(_figure_counters())
_counted = attrgetter(*(each.name for each in FIGURE_COUNTERS))
# The metrics of calls, by operation or client. All other metrics are in REGISTRY.
FAMILIES: tuple[Family | HistogramFamily, ...] = (
    CALLS,
    CLIENT_CALLS,
    FAILED,
    SAVED,
    LATENCY,
    *dict.fromkeys(each.counter for each in FIGURE_COUNTERS),
)


class OperationSeries:
    """Caches the series of one operation, because finding a series by its labels takes longer than adding to it."""

    def __init__(self, operation: str) -> None:
        self.figures = [each.counter.labels(operation, *each.labels) for each in FIGURE_COUNTERS]
        self.saved, self.latency = SAVED.labels(operation), LATENCY.labels(operation)

    def add(self, call: Measurement) -> None:
        for series, value in zip(self.figures, _counted(call), strict=True):
            if value:
                series.inc(value)
        self.saved.inc(call.saved_tokens)
        self.latency.observe(call.latency_ms / 1000)


# BoundedLabels limits the values, so these caches need no limit.
_series_of_operation = lru_cache(maxsize=None)(OperationSeries)
_calls = lru_cache(maxsize=None)(CALLS.labels)
_client_calls = lru_cache(maxsize=None)(CLIENT_CALLS.labels)


def count(call: Measurement) -> None:
    """Adds one call with valid figures. Only the writer thread may call this."""
    operation = operations.of(call.operation)
    _calls(operation, call.outcome, transports.of(call.transport)).inc()
    _client_calls(clients.of(call.client)).inc()
    if call.error_reason:
        FAILED.labels(operation, reasons.of(call.error_reason), call.origin).inc()
    _series_of_operation(operation).add(call)


def count_audit(*, claude_is_close: bool, estimate_is_close: bool) -> None:
    AUDITS.labels(_yes_or_no(claude_is_close), _yes_or_no(estimate_is_close)).inc()


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
