"""How far the copy of the live account is, and the events of its webhooks. All of it is read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway.connectors.hostaway.models import SyncState, WebhookEvent


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Users who could change the object if it were editable."""
        return super().has_change_permission(request)


@admin.register(SyncState)
class SyncStateAdmin(ReadOnly):
    list_display = ("resource", "account", "mode", "rows", "records_left_out", "as_of", "error", "error_at", "retry_at")
    actions = ("try_again",)

    @admin.display(description="left out")
    def records_left_out(self, state: SyncState) -> int:
        """Only the number: the state's own page names them."""
        return len(state.left_out)

    @admin.action(description="Try again now, without the pause", permissions=["retry"])
    def try_again(self, request: HttpRequest, states: QuerySet[SyncState]) -> None:
        states.update(retry_at=None, attempts=0)
        messages.success(request, "The next sync, within minutes, tries again.")


@admin.register(WebhookEvent)
class WebhookEventAdmin(ReadOnly):
    """Without the body, which holds values that are redacted elsewhere."""

    list_display = ("received_at", "event", "object_id", "outcome", "attempts", "error")
    list_filter = ("outcome", "event")
    exclude = ("body",)
    actions = ("apply_again",)

    @admin.action(description="Apply the failed ones again", permissions=["retry"])
    def apply_again(self, request: HttpRequest, events: QuerySet[WebhookEvent]) -> None:
        again = events.filter(outcome=WebhookEvent.Outcome.FAILED)
        count = again.update(outcome=WebhookEvent.Outcome.WAITING, attempts=0)
        messages.success(request, f"{count} of them will be applied within a minute.")
