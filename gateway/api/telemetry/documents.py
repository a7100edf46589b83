"""Figures and records of calls as JSON."""

from typing import Any

from telemetry.call_figures import CallFigures, Latency
from telemetry.measurement import FIGURES
from telemetry.models import TelemetryRecord
from telemetry.queries import Span


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


NAMES = {name: _camel_case(name) for name in FIGURES}


def span(of: Span) -> dict[str, Any]:
    return {"from": of.since, "to": of.until, "stepSeconds": int(of.step.total_seconds())}


def figures(of: CallFigures) -> dict[str, Any]:
    """Tokens are Claude's, shares are from 0 to 1, times are in milliseconds; null: nothing to measure."""
    return {
        "calls": of.calls,
        "errors": of.errors,
        "errorShare": of.error_share,
        "outcomes": dict(of.outcomes),
        "origins": dict(of.origins),
        "oversizedCalls": of.oversized_calls,
        "oversizedShare": of.oversized_share,
        "cachedCalls": of.cached_calls,
        "listCalls": of.list_calls,
        "paginationAdoption": of.pagination_adoption,
        "tokensSent": of.tokens_sent,
        "tokensBaseline": of.tokens_baseline,
        "tokensSaved": of.tokens_saved,
        "averageTokens": of.average_tokens,
        "bytesSent": of.bytes_sent,
        "latencyMs": _latency(of.latency),
        "upstreamLatencyMs": _latency(of.upstream_latency),
        "averageUpstreamMs": of.upstream_ms,
        "averageGatewayMs": of.gateway_ms,
    }


def _latency(of: Latency) -> dict[str, float | None]:
    return {"p50": of.p50, "p95": of.p95, "p99": of.p99}


def record(of: TelemetryRecord) -> dict[str, Any]:
    """All figures of a call, with names in camel case, and the tokens that it saved."""
    call = of.measurement
    return {**{key: getattr(call, name) for name, key in NAMES.items()}, "savedTokens": call.saved_tokens}
