"""The lights of "Now" on other pages."""

from typing import Any

from django import template
from django.template.context import Context

from telemetry import access
from telemetry.lights import Lights, lights_now
from telemetry.pages.panels import Panel, guarded

register = template.Library()


@register.inclusion_tag("telemetry/_pill.html", takes_context=True)
def state_pill(context: Context) -> dict[str, Any]:
    """The overall state, in the header of each page."""
    return _with_lights(context)


@register.inclusion_tag("telemetry/_lights_elsewhere.html", takes_context=True)
def lights_elsewhere(context: Context) -> dict[str, Any]:
    """All lights, with a link to Now."""
    return _with_lights(context)


def _with_lights(context: Context) -> dict[str, Any]:
    """The lights that the page has already read, else the current ones. None for users who may not see calls."""
    user = context.get("user")
    if user is None or not (user.is_active and user.is_staff and user.has_perm(access.SEE_CALLS)):
        return {"lights": None}
    seen: Panel[Lights] = context.get("lights") or guarded("Lights", lights_now)
    return {"lights": seen, "open_alerts": context.get("open_alerts")}
