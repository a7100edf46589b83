"""Starts OpenTelemetry if `OTEL_EXPORTER_OTLP_ENDPOINT` is set and the extra `otel` is installed.

Spans and metrics then go to that address over HTTP. The other variables of the OpenTelemetry SDK apply too
(OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, …).
"""

import logging
import os
from importlib.util import find_spec

from django.conf import settings

from gateway.tracing import spans
from gateway.tracing.names import OPERATION_DURATION
from gateway.version import VERSION
from telemetry.counters import LATENCY_BUCKETS

logger = logging.getLogger(__name__)

NEEDED = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
INSTALL = "pip install --require-hashes -r requirements-otel.lock"


def start() -> bool:
    """Returns whether OpenTelemetry is on. Call this once, before the MCP server is built."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if not _is_installed():
        logger.warning("OTEL_EXPORTER_OTLP_ENDPOINT is set, but the extra is not installed", extra={"install": INSTALL})
        return False
    _start()
    logger.info("OpenTelemetry is on", extra={"endpoint": settings.OTEL_EXPORTER_OTLP_ENDPOINT})
    return True


def _is_installed() -> bool:
    try:
        return find_spec(NEEDED) is not None
    except ModuleNotFoundError:
        return False


def _start() -> None:
    from opentelemetry import metrics, trace
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {"service.name": os.environ.get("OTEL_SERVICE_NAME", "sluice"), "service.version": VERSION}
    )
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(
        MeterProvider(resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())])
    )
    spans.tracer = trace.get_tracer("sluice", VERSION)
    spans.duration = metrics.get_meter("sluice", VERSION).create_histogram(
        OPERATION_DURATION,
        unit="s",
        description="From an MCP request's arrival to its result.",
        explicit_bucket_boundaries_advisory=LATENCY_BUCKETS,
    )


def stop() -> None:
    """Sends the queued spans and metrics. Blocks for some seconds if nothing listens."""
    if spans.tracer is None:
        return
    from opentelemetry import metrics, trace

    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        provider.shutdown()  # type: ignore[union-attr]  # the SDK's, which `start` has set
