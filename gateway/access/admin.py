"""API keys in the admin. The secret is shown once, at creation; keys are revoked, not deleted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from context_protection.history import HistoryAdmin
from gateway.access.forms import ApiKeyForm, ToolSetForm
from gateway.access.keys import digest, new_key, prefix
from gateway.access.models import ApiKey, ConnectorSwitch, ToolSet
from gateway.access.promises import broken_by_hiding

ABOUT_TOOLS = "The tools that clients of this key see. A change applies to the very next call."


NO_SET_YET = "No tool set is there yet: every key sees all tools. Add a set, and choose it on the page of a key."
ABOUT_SECRETS = "Door codes, passwords and other secrets are withheld from every key, except for the fields named here."


@admin.register(ApiKey)
class ApiKeyAdmin(HistoryAdmin):
    form = ApiKeyForm
    list_display = ("name", "prefix", "created_at", "expires_at", "revealed", "state")
    search_fields = ("name", "prefix")
    readonly_fields = ("prefix", "created_at", "revoked_at")
    actions = ("revoke",)
    fieldsets = (
        (None, {"fields": ("name", "prefix", "created_at", "expires_at", "revoked_at")}),
        (
            "Tools",
            {"fields": ("tool_listing", "tool_sets", "pinned_tools", "hidden_tools"), "description": ABOUT_TOOLS},
        ),
        ("Over REST", {"fields": ("may_read_telemetry", "may_read_configuration")}),
        ("Secrets", {"fields": ("reveal",), "description": ABOUT_SECRETS}),
    )

    @admin.display(description="Revealed fields")
    def revealed(self, key: ApiKey) -> str:
        return ", ".join(key.reveal)

    @admin.display(description="State")
    def state(self, key: ApiKey) -> str:
        return "revoked" if key.revoked_at else "active"

    @admin.action(description="Revoke the selected keys", permissions=["change"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        for key in keys.filter(revoked_at=None):
            key.revoke()
        messages.success(request, "Revoked. Calls with these keys are refused from now on.")

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ModelForm[ApiKey], change: bool) -> None:
        if not change:
            secret = new_key()
            obj.digest, obj.prefix = digest(secret), prefix(secret)
            message = "The key of {}, shown this once: <code>{}</code>"
            messages.warning(request, format_html(message, obj.name, secret))
        for sentence in broken_by_hiding(obj.hidden_tools):
            messages.warning(request, sentence)
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keys are revoked, not deleted, so that telemetry can still show their names."""
        return False


@admin.register(ToolSet)
class ToolSetAdmin(HistoryAdmin):
    form = ToolSetForm
    list_display = ("name", "size")
    search_fields = ("name",)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = {"title": "Tool sets", "when_empty": NO_SET_YET}
        response: HttpResponse = super().changelist_view(request, {**page, **(extra_context or {})})
        return response

    @admin.display(description="Tools")
    def size(self, each: ToolSet) -> int:
        return len(each.tools)


@admin.register(ConnectorSwitch)
class ConnectorSwitchAdmin(HistoryAdmin):
    list_display = ("connector", "is_on")
    fields = ("connector", "is_on")
    readonly_fields = ("connector",)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, {"title": "Connectors", **(extra_context or {})})
        return response

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
