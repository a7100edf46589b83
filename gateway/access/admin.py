"""API keys in the admin: created here, their secret shown once, revoked but never edited."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html

from context_protection.history import HistoryAdmin
from gateway.access.forms import ApiKeyForm
from gateway.access.keys import digest, new_key, prefix
from gateway.access.models import ApiKey
from gateway.access.promises import broken_by_hiding

ABOUT_TOOLS = "What clients of this key are shown. A change is obeyed by the very next call."


ABOUT_SECRETS = "Door codes, passwords and the like are withheld from every key, but for what is named here."


@admin.register(ApiKey)
class ApiKeyAdmin(HistoryAdmin):
    form = ApiKeyForm
    list_display = ("name", "prefix", "created_at", "expires_at", "revealed", "state")
    search_fields = ("name", "prefix")
    readonly_fields = ("prefix", "created_at", "revoked_at")
    actions = ("revoke",)
    fieldsets = (
        (None, {"fields": ("name", "prefix", "created_at", "expires_at", "revoked_at")}),
        ("Tools", {"fields": ("tool_listing", "pinned_tools", "hidden_tools"), "description": ABOUT_TOOLS}),
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
