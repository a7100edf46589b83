"""Views outside the API: home, health, metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from context_protection.core import tokens
from context_protection.core.budget import dumps
from gateway.catalog.catalog import catalogue
from gateway.client_config import Server, ways
from gateway.dispatch import audit
from gateway.upstreams.registry import upstreams
from gateway.upstreams.upstream import UpstreamState
from gateway.version import VERSION
from gateway.visitors import differs_by_visitor, for_those_known, may_look
from telemetry import audits, queries, recorder
from telemetry.metrics import metrics_text
from telemetry.models import Alert

STATES = {"ok": "Running", "degraded": "Running, with limits", "down": "Not able to answer"}


@require_safe
@differs_by_visitor
def home(request: HttpRequest) -> HttpResponse:
    """What is running, and how to connect; for unknown visitors, how to log in and create a key."""
    if not may_look(request):
        return render(request, "welcome.html", {"version": VERSION})
    document = _health()
    day = document.get("last24Hours", {})
    context = {
        "version": VERSION,
        "health": document,
        "state": STATES[document["status"]],
        "troubles": list(_troubles(document)),
        "figures": _shown_figures(day) if day else [],
        "sent_share": _percent(day["tokensSent"], day["tokensSent"] + day["tokensSaved"]) if day else None,
        "ways": ways(Server(base=request.build_absolute_uri("/").rstrip("/"))),
        "operations": [
            {
                "name": operation.name,
                "description": operation.description,
                "endpoint": operation.endpoint,
                "method": "POST" if operation.endpoint.startswith("/api/v1/tools/") else "GET",
            }
            for operation in catalogue
        ],
    }
    return render(request, "home.html", context)


@dataclass(frozen=True)
class Figure:
    label: str
    value: str
    note: str


def _shown_figures(day: Mapping[str, Any]) -> list[Figure]:
    calls, errors, sent, saved = day["calls"], day["errors"], day["tokensSent"], day["tokensSaved"]
    if not calls:
        first_call = "The first call of a client shows up here."
        return [Figure("Calls in the last 24 hours", "0", first_call)]
    failed = f"{errors:,} of them refused or failed" if errors else "none of them failed"
    average = f"{day['averageEstimatedTokens']:,.0f} per answer on average"
    share = _percent(saved, sent + saved)
    return [
        Figure("Calls in the last 24 hours", f"{calls:,}", failed),
        Figure("Tokens sent", f"{sent:,}", average),
        Figure("Tokens saved", f"{saved:,}", _about_savings(saved, share)),
    ]


def _about_savings(saved: int, share: str) -> str:
    if saved > 0:
        return f"{share} % of what the APIs would have sent, follow-up calls included"
    return "follow-up calls took more than was saved" if saved else "every answer fitted"


def _percent(part: int, whole: int) -> str:
    """The share in percent, such as "4.5"; "" if `whole` is zero."""
    return f"{100 * part / whole:.1f}" if whole else ""


def _troubles(health: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each thing that is degraded. Details are for staff, and not shown here."""
    if health["status"] == "down":
        yield "The database does not answer, so neither do calls."
    if health["ruler"]["claude"] != "ok":
        yield "Claude's own token count is not available; budgets are held by a cautious estimate."
    if health.get("openAlerts"):
        yield "An alert is open. Staff find it in the admin, under Alerts."
    for upstream in health["upstreams"]:
        if upstream["state"] == "open":
            yield f"{upstream['name']} does not answer; its tools give older answers, or say so."
    if dropped := health.get("telemetry", {}).get("dropped"):
        yield f"{dropped:,} calls since the start are missing from the figures."


@differs_by_visitor
def health(request: HttpRequest) -> HttpResponse:
    """Real figures (FR-032): use of paging, average response size, and what is degraded. Unknown visitors see only the
    status and the version."""
    document = _health() if may_look(request) else _short_health()
    return _json(document, 200 if document["status"] != "down" else 503)


@require_safe
@for_those_known
def metrics(request: HttpRequest) -> HttpResponse:
    body, content_type = metrics_text()
    return HttpResponse(body, content_type=content_type)


def _json(document: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(dumps(document), status=status, content_type="application/json")


def _short_health() -> dict[str, Any]:
    return {"status": "ok" if _database_answers() else "down", "version": VERSION}


def _health() -> dict[str, Any]:
    database_works = _database_answers()
    document: dict[str, Any] = {
        "status": "ok" if database_works else "down",
        "version": VERSION,
        "database": {"engine": connection.vendor, "answers": database_works},
        "ruler": {"claude": tokens.claude.degraded or "ok"},
    }
    document["upstreams"] = [_upstream(each.state()) for each in upstreams.all()]
    is_any_open = any(each["state"] == "open" for each in document["upstreams"])
    if database_works and (tokens.claude.degraded or is_any_open):
        document["status"] = "degraded"
    try:
        return {**document, **_figures()}
    except DatabaseError:
        return document


def _upstream(state: UpstreamState) -> dict[str, Any]:
    """This process's view of an upstream. `state` is the circuit breaker's: closed is healthy, open is not called for a
    while, half-open is tried again."""
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


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _figures() -> dict[str, Any]:
    figures, recorded = queries.health(), recorder.state()
    day = figures.last_24_hours
    return {
        "calls": figures.ever.calls,
        "paginationAdoption": _rounded(figures.ever.pagination_adoption),
        "averageResponseBytes": _rounded(figures.ever.average_response_bytes, 1),
        "averageEstimatedTokens": _rounded(figures.ever.average_tokens, 1),
        "tokensSaved": figures.ever.tokens_saved,
        "lastCallAt": figures.last_call_at,
        "openAlerts": Alert.objects.filter(state=Alert.State.OPEN).count(),
        "last24Hours": {
            "calls": day.calls,
            "errors": day.errors,
            "paginationAdoption": _rounded(day.pagination_adoption),
            "averageResponseBytes": _rounded(day.average_response_bytes, 1),
            "averageEstimatedTokens": _rounded(day.average_tokens, 1),
            "oversizedShare": _rounded(day.oversized_share),
            "tokensSent": day.tokens_sent,
            "tokensSaved": day.tokens_saved,
            "latencyMs": {"p50": day.latency.p50, "p95": day.latency.p95, "p99": day.latency.p99},
        },
        "telemetry": {
            "queued": recorded.queued,
            "stored": recorded.stored,
            "dropped": recorded.dropped,
            "lagSeconds": _rounded(recorded.lag_seconds, 2),
        },
        "tokenAudit": _token_audit(),
    }


def _token_audit() -> dict[str, Any]:
    """FR-014: our counts compared with full counts. A ratio is our count divided by the actual count; 1 is exact."""
    figures, state = audits.summary(), audit.state()
    return {
        "n": figures.count,
        "withinTwentyPercent": _rounded(figures.formula_within),
        "medianRatio": _rounded(figures.claude_ratio),
        "dropped": state.dropped,
        "providerFailures": state.provider_failures,
    }


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
