"""The pages and figures that are not the API's: home, health, metrics."""

from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from context_protection import tokens
from context_protection.budget import dumps
from gateway.operations import catalogue
from gateway.version import VERSION
from telemetry import queries, recorder
from telemetry.metrics import metrics_text


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What is running, and how to connect."""
    base = request.build_absolute_uri("/").rstrip("/")
    context = {
        "version": VERSION,
        "base": base,
        "websocket": f"{base.replace('http', 'ws', 1)}/mcp/ws",
        "operations": list(catalogue),
        "health": _health(),
    }
    return render(request, "home.html", context)


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Real figures (FR-032): adoption of paging, average size, and what works below its best."""
    document = _health()
    return _json(document, 200 if document["status"] != "down" else 503)


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    return _json({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Whether calls can be answered now."""
    works = _database_answers()
    return _json({"status": "ok" if works else "down", "database": works}, 200 if works else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    body, content_type = metrics_text()
    return HttpResponse(body, content_type=content_type)


def _json(document: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(dumps(document), status=status, content_type="application/json")


def _health() -> dict[str, Any]:
    works = _database_answers()
    document: dict[str, Any] = {
        "status": "ok" if works else "down",
        "version": VERSION,
        "database": {"engine": connection.vendor, "answers": works},
        "ruler": {"claude": tokens.claude.degraded or "ok"},
    }
    if tokens.claude.degraded and works:
        document["status"] = "degraded"
    try:
        return {**document, **_figures()}
    except DatabaseError:
        return document


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
