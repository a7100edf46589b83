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
    """What an event stores instead of the page's address. Resolving the address would load the pages (15 MB) into a
    process that only checks alerts."""
    return f"{OBJECT}{alert.pk}"


def of_event(event: Event) -> str:
    """The address of the page that shows more of an event."""
    is_alert = event.object.startswith(OBJECT)
    return _page("telemetry:alert", event.object.removeprefix(OBJECT)) if is_alert else event.link


def rule(of: AlertRule) -> str:
    return _page("telemetry:alert-rule", of.pk)


def calls(of: Alert, checked_at: datetime) -> str:
    """The list of the calls that the check at that time counted."""
    page, query = _page("telemetry:calls"), calls_query(of, checked_at)
    return f"{page}?{urlencode(query)}" if page and query else ""


def calls_query(of: Alert, checked_at: datetime) -> list[tuple[str, str]]:
    """The query that selects the calls that the check counted: the rule's window before it, and the filters. Empty for
    rules that count no calls."""
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
    """The full URL, for messages that are read elsewhere. "" if the path is empty, or if PUBLIC_URL, the address of
    this server for browsers, is needed and not set."""
    base = getattr(settings, "PUBLIC_URL", "")
    return urljoin(base, path) if path and (base or "://" in path) else ""


def _page(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
