"""A template context processor that adds open alerts to staff pages."""

from dataclasses import dataclass
from datetime import datetime

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
    may_open = user.has_perm("telemetry.view_alert")
    return tuple(
        OpenAlert(
            title=alert.title,
            message=alert.message,
            opened_at=alert.fired_at or alert.started_at,
            url=links.alert(alert) or reverse("admin:telemetry_alert_change", args=(alert.pk,)) if may_open else "",
        )
        for alert in Alert.objects.open().select_related("rule")
    )
