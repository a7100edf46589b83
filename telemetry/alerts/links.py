"""Addresses of an alert's page, its calls and its runbook; "" if this application does not serve the page."""

from datetime import UTC, datetime
from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.urls import NoReverseMatch, reverse

from telemetry.alerts.conditions import condition_of
from telemetry.models import Event
from telemetry.models.alerts import Alert, AlertRule

OBJECT = f"{Alert._meta.label_lower}:"


def alert(of: Alert) -> str:
    return _page("telemetry:alert", of.pk)


def object_of(alert: Alert) -> str:
    """What an event stores instead of the page's address: to find that would load the pages into a process that only
    checks alerts (15 MB)."""
    return f"{OBJECT}{alert.pk}"


def of_event(event: Event) -> str:
    """The page that shows more of an event."""
    is_alert = event.object.startswith(OBJECT)
    return _page("telemetry:alert", event.object.removeprefix(OBJECT)) if is_alert else event.link


def rule(of: AlertRule) -> str:
    return _page("telemetry:alert-rule", of.pk)


def calls(of: Alert, checked_at: datetime) -> str:
    """The list of the calls that the check at that time counted."""
    page, query = _page("telemetry:calls"), calls_query(of, checked_at)
    return f"{page}?{urlencode(query)}" if page and query else ""


def calls_query(of: Alert, checked_at: datetime) -> list[tuple[str, str]]:
    """The query that selects these calls: the rule's window before the check, and the filters. Empty for rules that
    count no calls."""
    window = condition_of(of.rule).window
    chosen = [(name, value) for name, values in of.details.get("calls", {}).items() for value in values]
    return [("from", _iso(checked_at - window)), ("to", _iso(checked_at)), *chosen] if chosen and window else []


def _iso(moment: datetime) -> str:
    """The time to the microsecond, so that the page counts the same calls."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def runbook(of: AlertRule) -> str:
    """The rule's own runbook, or else the section of its kind in docs/runbooks.md."""
    page = _page("telemetry:runbooks")
    return of.runbook or (f"{page}#{of.kind}" if page else "")


def absolute(path: str) -> str:
    """The whole URL, for messages that are read elsewhere. PUBLIC_URL is where browsers reach this server."""
    base = getattr(settings, "PUBLIC_URL", "")
    return urljoin(base, path) if path and (base or "://" in path) else ""


def _page(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
