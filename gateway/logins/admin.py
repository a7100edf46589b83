"""Admin pages: the read-only audit trail, and second factors, which admins reset by deleting them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway.logins import events
from gateway.logins.models import SecondFactor, SecurityEvent
from telemetry.read_only_admin import ReadOnlyAdmin


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "kind", "who", "address", "by")
    list_filter = ("kind", "at")
    search_fields = ("name", "address")
    date_hierarchy = "at"

    @admin.display(description="User", ordering="name")
    def who(self, event: SecurityEvent) -> str:
        return event.name or "(unknown name)"


@admin.register(SecondFactor)
class SecondFactorAdmin(ReadOnlyAdmin):
    list_display = ("whose", "created_at", "codes_left")
    fields = ("whose", "created_at", "codes_left")
    readonly_fields = fields
    search_fields = ("user__username",)
    list_select_related = ("user",)

    @admin.display(description="User", ordering="user__username")
    def whose(self, factor: SecondFactor) -> str:
        return factor.user.get_username()

    @admin.display(description="Recovery codes left")
    def codes_left(self, factor: SecondFactor) -> int:
        return factor.recovery_codes.count()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """For the role admin: resetting a second factor lets anyone with the password log in as its user."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def delete_model(self, request: HttpRequest, obj: SecondFactor) -> None:
        user = obj.user
        super().delete_model(request, obj)
        events.note(events.SecurityEventKind.SECOND_FACTOR_RESET, user, request, by=request.user.get_username())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SecondFactor]) -> None:
        for factor in queryset:
            self.delete_model(request, factor)
