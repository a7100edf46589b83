"""The health page, and the metrics for staff who are logged in (probes.py answers callers with a key)."""

from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.core.budget import dumps
from context_protection.layers.file.source import configuration_file
from gateway.pages import success_criteria
from gateway.pages.background_refresh import Refreshed
from gateway.pages.sums import ServerFigures, server_figures, server_metrics
from gateway.pages.visitors import known_visitors_only, may_see_details, varies_by_visitor
from gateway.upstreams.client import UpstreamState
from gateway.version import VERSION
from telemetry import audits, queries
from telemetry.lights import lights_now
from telemetry.lights.light import Component
from telemetry.models.alerts import Alert
from telemetry.states import State


@varies_by_visitor
def health(request: HttpRequest) -> HttpResponse:
    """Real figures (FR-032): use of paging, average response size, and what is degraded. Unknown visitors see only the
    status and the version."""
    document = health_document() if may_see_details(request) else _short_health()
    return _json(document, 200 if document["status"] != "down" else 503)


@require_safe
@known_visitors_only
def metrics(request: HttpRequest) -> HttpResponse:
    body, content_type = server_metrics()
    return HttpResponse(body, content_type=content_type)


def _json(document: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(dumps(document), status=status, content_type="application/json")


def _short_health() -> dict[str, Any]:
    return {"status": "ok" if database_answers() else "down", "version": VERSION}


def health_document() -> dict[str, Any]:
    database_works = database_answers()
    document: dict[str, Any] = {
        "status": "ok" if database_works else "down",
        "version": VERSION,
        "database": {"engine": connection.vendor, "answers": database_works},
        "ruler": {"claude": tokens.claude.degraded or "ok"},
        "configuration": _configuration(),
    }
    server = server_figures()
    if len(server.processes) > 1:
        document["workers"] = [
            {"worker": each.worker, "pid": each.pid, "stored": each.stored} for each in server.workers
        ]
    document["caches"] = _caches(server)
    document["upstreams"] = [_upstream(each) for each in server.upstreams]
    down = {each.name for each in server.upstreams if each.is_down}
    try:
        down |= _red_upstreams.get()
        document |= {**_figures.get(), "telemetry": _telemetry(server)}
        audited = {"dropped": server.audits_dropped, "providerFailures": server.provider_failures}
        document["tokenAudit"] = {**document["tokenAudit"], **audited}
    except DatabaseError:
        pass  # figures from the database are left out; `status` reports whether the database answers
    document["upstreamsDown"] = sorted(down)
    if database_works and (tokens.claude.degraded or down):
        document["status"] = "degraded"
    return document


def _configuration() -> dict[str, Any]:
    """The configuration of this process. `problems`: why the present file is not in force."""
    status = configuration_file.status
    return {
        "revision": str(revisions.current()),
        "file": status.name or None,
        "version": status.digest or None,
        "problems": list(map(str, status.problems)),
        "since": status.since,
    }


def _upstream(state: UpstreamState) -> dict[str, Any]:
    """This server's view of an upstream. `state` is the circuit breaker's: closed (healthy), open (not called for a
    while) or half-open (tried again)."""
    return {
        "name": state.name,
        "state": state.breaker,
        "lastSuccessAt": _moment(state.last_success_at),
        "lastFailureAt": _moment(state.last_failure_at),
        "lastFailure": state.last_failure or None,
        "rateLeft": state.rate_left,
        "calls": state.calls,
        "cacheHitRate": _rounded(state.hit_rate),
    }


def _caches(server: ServerFigures) -> dict[str, Any]:
    """Bytes: the limit of all caches together, and what each of them uses of it."""
    return {
        "limitBytes": server.cache_limit,
        "usedBytes": sum(server.cache_used.values()),
        "byCache": dict(server.cache_used),
    }


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _calls() -> dict[str, Any]:
    figures = queries.health()
    day = figures.last_24_hours
    return {
        "calls": figures.ever.calls,
        "paginationAdoption": _rounded(figures.ever.pagination_adoption),
        "averageResponseBytes": _rounded(figures.ever.average_response_bytes, 1),
        "averageEstimatedTokens": _rounded(figures.ever.average("estimated_tokens"), 1),
        "tokensSaved": figures.ever.tokens_saved,
        "lastCallAt": figures.last_call_at,
        "openAlerts": Alert.objects.open().count(),
        "last24Hours": {
            "calls": day.calls,
            "errors": day.errors,
            "paginationAdoption": _rounded(day.pagination_adoption),
            "averageResponseBytes": _rounded(day.average_response_bytes, 1),
            "averageEstimatedTokens": _rounded(day.average("estimated_tokens"), 1),
            "averageTokens": _rounded(day.average_tokens, 1),  # Claude's count, as in tokensSent and tokensSaved
            "oversizedShare": _rounded(day.oversized_share),
            "tokensSent": day.tokens_sent,
            "tokensSaved": day.tokens_saved,
            "latencyMs": {"p50": day.latency.p50, "p95": day.latency.p95, "p99": day.latency.p99},
        },
        "tokenAudit": _token_audit(),
        **success_criteria.document(now=datetime.now(UTC)),
        "figuresAt": datetime.now(UTC),
    }


def _upstreams_with_a_red_light() -> set[str]:
    """The upstreams that are down according to the page Now. Its lights cover all processes, and notice hanging
    calls early: a breaker opens only after several failures in a row, each of which takes its whole timeout. An
    upstream that nobody calls, such as NSIP on a machine without a network, does not count."""
    down = (each for each in lights_now().bad if each.part is Component.UPSTREAM and each.state is State.DOWN)
    return {each.name for each in down if each.bad_share is not None}


_figures = Refreshed(_calls)
_red_upstreams = Refreshed(_upstreams_with_a_red_light)


def _telemetry(server: ServerFigures) -> dict[str, Any]:
    return {
        "queued": server.queued,
        "stored": server.stored,
        "dropped": server.dropped,
        "lagSeconds": _rounded(server.lag_seconds, 2),
    }


def _token_audit() -> dict[str, Any]:
    """FR-014: our counts compared with full counts. A ratio is our count divided by the actual count; 1 is exact."""
    figures = audits.summary()
    return {
        "n": figures.count,
        "withinTenPercent": _rounded(figures.claude_within),
        "withinTwentyPercent": _rounded(figures.formula_within),
        "medianRatio": _rounded(figures.claude_ratio),
    }


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
