"""Addresses of an alert's page, its calls and its runbook. Empty where this application does not serve the page."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.urls import NoReverseMatch, reverse

from telemetry.alerts.conditions import condition_of
from telemetry.models.alerts import Alert, AlertRule


def alert(of: Alert) -> str:
    return _page("telemetry:alert", of.pk)


def rule(of: AlertRule) -> str:
    return _page("telemetry:alert-rule", of.pk)


def calls(of: Alert, until: datetime) -> str:
    """The calls behind an alert: those of the window that ended at `until`, or since it began."""
    page = _page("telemetry:calls")
    window = condition_of(of.rule).window or timedelta(hours=1)
    chosen = [(name, value) for name, values in of.details.get("calls", {}).items() for value in values]
    query = urlencode([("from", iso(of.started_at - window)), ("to", iso(until)), *chosen])
    return f"{page}?{query}" if page and chosen else ""


def iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def runbook(of: AlertRule) -> str:
    """The rule's own runbook, or else the section of its kind in docs/runbooks.md."""
    page = _page("telemetry:runbooks")
    return of.runbook or (f"{page}#{of.kind}" if page else "")


def absolute(path: str) -> str:
    """For messages that are read elsewhere. PUBLIC_URL is where browsers reach this server."""
    base = getattr(settings, "PUBLIC_URL", "")
    return urljoin(base, path) if path and (base or "://" in path) else ""


def _page(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
