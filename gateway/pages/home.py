"""The home page: the server's state, and how to connect."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from gateway.catalog.catalog import catalogue
from gateway.pages.client_config import ConnectionDetails, client_configs, for_staff
from gateway.pages.health import database_answers, health_document
from gateway.pages.visitors import may_see_details, varies_by_visitor
from gateway.version import VERSION
from telemetry import page_memory, wording
from telemetry.lights import lights_now
from telemetry.pages.panels import guarded

STATES = {"ok": "Running", "degraded": "Running, with limits", "down": "Not able to answer"}


@require_safe
@varies_by_visitor
def home(request: HttpRequest) -> HttpResponse:
    """Shows the server's state and how to connect; to unknown visitors, how to log in and create a key."""
    if not may_see_details(request):
        return render(request, "welcome.html", {"version": VERSION, "shown": _seen_by_all(int(time.monotonic() / 5))})
    with page_memory.kept():
        return render(request, "home.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    document = health_document()
    day = document.get("last24Hours", {})
    return {
        "version": VERSION,
        "health": document,
        "shown": _state(document["status"], document["upstreamsDown"]),
        "problems": list(_problems(document)),
        "last_call": _age(document.get("lastCallAt")),
        "figures": _figures(day) if day else [],
        "sent_share": _percent(day["tokensSent"], day["tokensSent"] + day["tokensSaved"]) if day else None,
        "client_configs": client_configs(_server(request)),
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


def _age(at: datetime | None) -> str:
    return "" if at is None else wording.age(timezone.now() - at)


@dataclass(frozen=True)
class ShownState:
    """`status`: ok, degraded or down."""

    status: str
    words: str


def _state(status: str, down: Sequence[str] = ()) -> ShownState:
    """The state of the server: never better than the lights of the page Now. `down`: upstreams that may be named,
    because the health page shows their names to the same visitor."""
    if status == "degraded" and down:
        words = f"{down[0]} is down" if len(down) == 1 else f"{len(down)} upstreams are down"
        return ShownState(status, f"Running, but {words}")
    if status == "down":
        return ShownState(status, STATES[status])
    lights = guarded("Lights", lights_now).content
    if lights is None:
        return ShownState("degraded", "Running, but its state is not known")
    if not lights.without_names:
        return ShownState(status, STATES[status])
    return ShownState("degraded", f"Running, but {lights.without_names}")


@lru_cache(maxsize=1)
def _seen_by_all(_five_seconds: int) -> ShownState:
    """The state for unknown visitors. Cached for five seconds, so that visitors cannot keep the database busy."""
    return _state("ok" if database_answers() else "down")


forget_state = _seen_by_all.cache_clear


def _server(request: HttpRequest) -> ConnectionDetails:
    """How clients connect to this server. Only staff see where it is installed."""
    base = request.build_absolute_uri("/").rstrip("/")
    return for_staff(base) if admin.site.has_permission(request) else ConnectionDetails(base)


@dataclass(frozen=True)
class ShownFigure:
    label: str
    value: str
    note: str


def _figures(day: Mapping[str, Any]) -> list[ShownFigure]:
    calls, errors, sent, saved = day["calls"], day["errors"], day["tokensSent"], day["tokensSaved"]
    if not calls:
        first_call = "The first call of a client shows up here."
        return [ShownFigure("Calls in the last 24 hours", "0", first_call)]
    failed = f"{errors:,} of them refused or failed" if errors else "none of them failed"
    average = f"{day['averageTokens']:,.0f} per answer on average"
    share = _percent(saved, sent + saved)
    return [
        ShownFigure("Calls in the last 24 hours", f"{calls:,}", failed),
        ShownFigure("Tokens sent, Claude’s count", f"{sent:,}", average),
        ShownFigure("Tokens saved, Claude’s count", f"{saved:,}", _about_savings(saved, share)),
    ]


def _about_savings(saved: int, share: str) -> str:
    if saved > 0:
        return f"{share} % of what the APIs would have sent, follow-up calls included"
    return "follow-up calls took more than was saved" if saved else "every answer fitted"


def _percent(part: int, whole: int) -> str:
    """The share in percent, such as "4.5"; "" if `whole` is zero."""
    return f"{100 * part / whole:.1f}" if whole else ""


def _problems(health: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each degraded component. Details are for staff, and not shown here."""
    if health["status"] == "down":
        yield "The database does not answer, so neither do calls."
    elif "last24Hours" not in health:
        yield "The calls cannot be read now, so there are no figures."
    if health["ruler"]["claude"] != "ok":
        yield "Claude's own token count is not available; budgets are held by a cautious estimate."
    if health.get("openAlerts"):
        yield "An alert is open. Staff find it in the admin, under Alerts."
    for name in health["upstreamsDown"]:
        yield f"{name} does not answer; its tools give older answers, or say so."
    if dropped := health.get("telemetry", {}).get("dropped"):
        yield f"{dropped:,} calls since the start are missing from the figures."
