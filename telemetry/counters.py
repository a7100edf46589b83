"""The Prometheus counters. The writer thread updates them, so they cost the hot path nothing.

They count the calls of this process since it started; Prometheus sums over processes.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from telemetry.calls import Call
from telemetry.models import Door, Outcome

MAX_OPERATIONS = 300  # each has about 45 series; further operations share one name
OTHER = "_other"
DOORS = frozenset(Door.values)
OUTCOMES = frozenset(Outcome.values)
# The buckets of OpenTelemetry's mcp.server.operation.duration.
LATENCY_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

CALLS = Counter("sluice_calls", "Calls answered.", ("operation", "outcome", "door"), registry=REGISTRY)
TOKENS = Counter(
    "sluice_result_tokens",
    "Estimated tokens: raw (the payloads), baseline (what unprotected APIs would have sent), sent to the context.",
    ("operation", "kind"),
    registry=REGISTRY,
)
SAVED = Gauge(
    "sluice_net_saved_tokens",
    "Baseline less sent since the start: follow-up calls cost, so that it can fall.",
    ("operation",),
    registry=REGISTRY,
)
OVERSIZED = Counter(
    "sluice_oversized_calls",
    "Calls whose unprotected answer was over budget.",
    ("operation",),
    registry=REGISTRY,
)
BYTES = Counter("sluice_response_bytes", "Bytes sent.", ("operation",), registry=REGISTRY)
LATENCY = Histogram(
    "sluice_call_duration_seconds",
    "From a call's arrival to its answer.",
    ("operation",),
    buckets=LATENCY_BUCKETS,
    registry=REGISTRY,
)
ESTIMATES = Counter(
    "sluice_token_estimates",
    "Answers whose estimate was compared with Claude's own count, by whether they agree within 20 %.",
    ("within_20_percent",),
    registry=REGISTRY,
)
REJECTED_KEYS = Counter("sluice_rejected_keys", "Calls whose key was refused.", ("door",), registry=REGISTRY)

_operations: set[str] = set()


def count(call: Call) -> None:
    """Adds one call. Only the writer thread may call this."""
    operation = _bounded(call.operation)
    door = call.door if call.door in DOORS else OTHER
    outcome = call.outcome if call.outcome in OUTCOMES else OTHER
    CALLS.labels(operation, outcome, door).inc()
    TOKENS.labels(operation, "raw").inc(max(0, call.original_tokens))
    TOKENS.labels(operation, "sent").inc(max(0, call.estimated_tokens))
    TOKENS.labels(operation, "baseline").inc(max(0, call.baseline_tokens))
    SAVED.labels(operation).inc(call.saved_tokens)
    BYTES.labels(operation).inc(max(0, call.response_bytes))
    LATENCY.labels(operation).observe(call.latency_ms / 1000)
    if call.oversized:
        OVERSIZED.labels(operation).inc()
    if call.claude_tokens > 0:
        agrees = abs(call.estimated_tokens - call.claude_tokens) <= 0.2 * call.claude_tokens
        ESTIMATES.labels("yes" if agrees else "no").inc()


def _bounded(operation: str) -> str:
    """The operation as a label: valid UTF-8, and OTHER once MAX_OPERATIONS labels exist."""
    operation = operation.encode("utf-8", "replace").decode()
    if operation not in _operations:
        if len(_operations) >= MAX_OPERATIONS:
            return OTHER
        _operations.add(operation)
    return operation
