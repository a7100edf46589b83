"""Names the parts of the configuration that are not in force, on pages of the admin."""

from typing import Any

from django import template
from django.template.context import Context

from context_protection.configuration.rejections import rejections

register = template.Library()


@register.inclusion_tag("context_protection/_rejections.html", takes_context=True)
def configuration_rejections(context: Context) -> dict[str, Any]:
    """The rejections; none for users who may not view token budgets."""
    user = context.get("user")
    may_see = user is not None and user.is_active and user.has_perm("context_protection.view_tokenbudget")
    return {"rejections": rejections() if may_see else []}
