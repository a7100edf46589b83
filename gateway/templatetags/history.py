"""The last changes, on the front page of the admin."""

from typing import Any

from django import template

from gateway.staff.history.change_list import CHANGES, SEE, row_of
from telemetry.models import Event

register = template.Library()
SHOWN = 10


@register.inclusion_tag("history/_last_changes.html", takes_context=True)
def last_changes(context: template.RequestContext) -> dict[str, Any]:
    """Empty for people who may not read the history."""
    request = context.request
    if request is None or not request.user.has_perm(SEE):
        return {}
    return {"rows": [row_of(event) for event in Event.objects.filter(kind__in=CHANGES)[:SHOWN]], "shown": True}
