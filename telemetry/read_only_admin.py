"""Read-only admin pages, and the badge of a state."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    def changelist_view(self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
        title = capfirst(str(self.opts.verbose_name_plural))  # not "Select call to view"
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TelemetryAdmin(ReadOnlyAdmin):
    actions = None
    list_per_page = 50
    show_full_result_count = False

    class Media:
        css = {"all": ("telemetry/telemetry.css",)}


def badge(kind: str, label: str, detail: str = "") -> SafeString:
    return format_html('<span class="tm-badge tm-badge-{}" title="{}">{}</span>', kind, detail, label)
