"""The audit trail in the admin: everybody with the permission looks, nobody changes it."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from gateway.logins.models import SecurityEvent


@admin.register(SecurityEvent)
class SecurityEventAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("at", "kind", "who", "address", "by")
    list_filter = ("kind", "at")
    search_fields = ("name", "address")
    date_hierarchy = "at"

    @admin.display(description="User", ordering="name")
    def who(self, event: SecurityEvent) -> str:
        return event.name or "(unknown name)"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
