"""Ready configuration for clients, with a key in it."""

from typing import Any

from django import template

from gateway.pages.client_config import client_configs, for_staff

register = template.Library()


@register.inclusion_tag("_client_snippets.html", takes_context=True)
def client_snippets(context: template.Context, key: str) -> dict[str, Any]:
    """For staff: with the real path of Sluice."""
    base = context["request"].build_absolute_uri("/").rstrip("/")
    return {"client_configs": client_configs(for_staff(base, key))}
