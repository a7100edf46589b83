"""The gauge of the tool list: how much of TOOL_LIST_BUDGET the definitions of all tools take."""

from typing import Any

from django import template
from django.conf import settings

from context_protection.core.errors import CallError
from gateway.mcp.tools import unrestricted_list

register = template.Library()


@register.inclusion_tag("_tool_list_gauge.html")
def tool_list_gauge(adds: str = "", draft: Any = None) -> dict[str, Any]:
    """Empty while the configuration cannot be read. `adds`: what the page adds, whose tools are not known yet.
    `draft`: the ListEffect of changes that are not saved."""
    try:
        listed = unrestricted_list()
    except CallError:
        return {}
    budget = int(settings.TOOL_LIST_BUDGET)
    usual = listed.whole // max(1, len(listed.definitions))
    return {
        "tokens": listed.whole,
        "shown_tokens": f"{listed.whole:,}",
        "budget": budget,
        "shown_budget": f"{budget:,}",
        "ample": budget * 4 // 5,  # shares of the meter: green up to here, then yellow,
        "full": budget - 1,  # and red when the list is over its budget
        "tools": len(listed.definitions),
        "searched": listed.searched,
        "adds": adds,
        "draft": draft,
        "room": max(0, budget - listed.whole) // max(1, usual),
    }
