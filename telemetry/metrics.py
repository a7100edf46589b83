"""The body of GET /metrics: the counters of this process and the state of its recorder."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from telemetry import recorder, rejections
from telemetry.alert_metrics import AlertCollector
from telemetry.counters import FAMILIES, REGISTRY


class RecorderCollector(Collector):
    """Reads the recorder's state at each scrape, so that `record` need not publish it."""

    def collect(self) -> Iterator[Metric]:
        state = recorder.state()
        yield GaugeMetricFamily("sluice_telemetry_queued", "Calls not stored yet.", state.queued)
        yield GaugeMetricFamily(
            "sluice_telemetry_lag_seconds", "Age of the oldest call not stored yet.", state.lag_seconds
        )
        yield CounterMetricFamily("sluice_telemetry_stored", "Calls stored.", state.stored)
        yield CounterMetricFamily("sluice_telemetry_dropped", "Calls lost to telemetry.", state.dropped)
        yield CounterMetricFamily("sluice_telemetry_corrected", "Calls with a corrected figure.", state.corrected)
        dropped = rejections.state().dropped
        yield CounterMetricFamily("sluice_rejected_keys_dropped", "Refused keys that could not be stored.", dropped)


REGISTRY.register(RecorderCollector())
REGISTRY.register(AlertCollector())


def metrics_text() -> tuple[bytes, str]:
    """Body and content type, in Prometheus's text format."""
    lines = [line for family in FAMILIES for line in family.lines()]
    return generate_latest(REGISTRY) + "\n".join((*lines, "")).encode(), CONTENT_TYPE_LATEST
