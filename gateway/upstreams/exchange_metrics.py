"""The Prometheus counters of exchanges with upstreams."""

from functools import lru_cache

from prometheus_client import Counter, Histogram

from telemetry.counters import LATENCY_BUCKETS, MOST_NAMES, REGISTRY, BoundedLabels

EXCHANGES = Counter(
    "sluice_upstream_exchanges",
    "Requests sent to an upstream, by the class of its status or by the reason of a failure.",
    ("upstream", "outcome"),
    registry=REGISTRY,
)
DURATION = Histogram(
    "sluice_upstream_duration_seconds",
    "From a request to an upstream to its whole answer.",
    ("upstream",),
    buckets=LATENCY_BUCKETS,
    registry=REGISTRY,
)
names = BoundedLabels(MOST_NAMES)
_exchanges = lru_cache(maxsize=1000)(EXCHANGES.labels)  # finding a series costs more than counting in it
_duration = lru_cache(maxsize=1000)(DURATION.labels)


def count(upstream: str, outcome: str, status: int, seconds: float) -> None:
    """`outcome`: "answered", or the reason of a failure; `status`: 0 without an answer."""
    name = names.of(upstream)
    _exchanges(name, f"{status // 100}xx" if status else outcome).inc()
    _duration(name).observe(seconds)
