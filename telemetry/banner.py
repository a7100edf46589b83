"""A template context processor that adds open alerts to staff pages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from telemetry.alerts import links
from telemetry.models.alerts import Alert

PAGES = ("/admin/", "/telemetry/")


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """An alert for templates/telemetry/_alerts.html; `url` is "" for staff who may not open it."""

    title: str
    message: str
    opened_at: datetime
    url: str


def open_alerts(request: HttpRequest) -> dict[str, object]:
    """`open_alerts` for templates: a sequence of OpenAlert, queried only when a template uses it."""
    if not request.path.startswith(PAGES):
        return {"open_alerts": ()}
    return {"open_alerts": SimpleLazyObject(lambda: _alerts_for(request))}


def _alerts_for(request: HttpRequest) -> tuple[OpenAlert, ...]:
    user = getattr(request, "user", None)
    if user is None or not (user.is_active and user.is_staff):
        return ()
    return tuple(
        OpenAlert(
            title=alert.title,
            message=alert.message,
            opened_at=alert.fired_at or alert.started_at,
            url=_page_for(user, alert),
        )
        for alert in Alert.objects.open().select_related("rule")
    )


def _page_for(user: Any, alert: Alert) -> str:
    """The address of the alert's page, or of its admin page if the user may open only that; "" for neither."""
    page = links.alert(alert)
    if page and user.has_perm("telemetry.view_telemetryrecord"):
        return page
    if user.has_perm("telemetry.view_alert"):
        return reverse("admin:telemetry_alert_change", args=(alert.pk,))
    return ""
