"""The states of this process's upstreams, for /metrics; they are read at each scrape."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from gateway.upstreams.exchange_metrics import names
from gateway.upstreams.registry import upstreams

BREAKER_STATES = ("closed", "half-open", "open")


class UpstreamCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        breaker = GaugeMetricFamily(
            "sluice_upstream_breaker",
            "1 for the state of the circuit breaker: closed (healthy), open (not called), half-open (tried again).",
            labels=("upstream", "state"),
        )
        calls = CounterMetricFamily("sluice_upstream_calls", "Calls that needed an upstream.", labels=("upstream",))
        cached = CounterMetricFamily(
            "sluice_upstream_cached_calls", "Calls served from a cached answer of the upstream.", labels=("upstream",)
        )
        left = GaugeMetricFamily(
            "sluice_upstream_rate_left",
            "Requests that may be sent at once, where a rate is known.",
            labels=("upstream",),
        )
        success = GaugeMetricFamily(
            "sluice_upstream_last_success_timestamp_seconds", "Unix time of the last success.", labels=("upstream",)
        )
        failure = GaugeMetricFamily(
            "sluice_upstream_last_failure_timestamp_seconds", "Unix time of the last failure.", labels=("upstream",)
        )
        for state in [each.state() for each in upstreams.all()]:
            name = [names.of(state.name)]
            for each in BREAKER_STATES:
                breaker.add_metric([*name, each], float(state.breaker == each))
            calls.add_metric(name, state.calls)
            cached.add_metric(name, state.hits)
            for family, value in (
                (left, state.rate_left),
                (success, state.last_success_at),
                (failure, state.last_failure_at),
            ):
                if value is not None:
                    family.add_metric(name, value)
        yield from (breaker, calls, cached, left, success, failure)
