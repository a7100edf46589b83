"""Which permission a page of the admin needs."""

from django.contrib import admin
from django.http import HttpRequest

LOOKING = frozenset({"changelist", "change", "history", "simple_history"})  # pages that send nothing with a GET


def permission_of(request: HttpRequest) -> str:
    """The permission of a page of Django's admin, by the name of its address; "" for other pages."""
    match = request.resolver_match
    if match is None or "admin" not in match.namespaces:
        return ""
    for model in admin.site._registry:
        meta = model._meta
        action = (match.url_name or "").removeprefix(f"{meta.app_label}_{meta.model_name}_")
        if action != match.url_name:
            is_read = request.method in ("GET", "HEAD") and action in LOOKING
            verb = "view" if is_read else action if action in ("add", "delete") else "change"
            return f"{meta.app_label}.{verb}_{meta.model_name}"
    return ""
