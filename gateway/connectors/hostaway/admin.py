"""Read-only admin of the live account's sync states and webhook events. Without an account the pages say how to connect
one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from gateway.connectors.hostaway import live
from gateway.connectors.hostaway.models import SyncState, WebhookEvent
from telemetry.read_only_admin import ReadOnlyAdmin


class LiveAccountAdmin(ReadOnlyAdmin):
    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Allows retries to users with the model's change permission."""
        return admin.ModelAdmin.has_change_permission(self, request)

    def changelist_view(self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
        context = {
            "account": live.account(),
            "minutes": max(1, round(live.interval().total_seconds() / 60)),
            "folder": settings.BASE_DIR,
            "python": sys.executable,
            "takes_events": bool(getattr(settings, "HOSTAWAY_WEBHOOK_SECRET", "")),
            "address": request.build_absolute_uri(reverse("hostaway-webhook")),
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})


@admin.register(SyncState)
class SyncStateAdmin(LiveAccountAdmin):
    list_display = ("resource", "account", "mode", "rows", "records_left_out", "as_of", "error", "error_at", "retry_at")
    actions = ("try_again",)

    @admin.display(description="left out")
    def records_left_out(self, state: SyncState) -> int:
        """The number of records; the state's own page lists them."""
        return len(state.left_out)

    @admin.action(description="Try again now, without the pause", permissions=["retry"])
    def try_again(self, request: HttpRequest, states: QuerySet[SyncState]) -> None:
        states.update(retry_at=None, attempts=0)
        messages.success(request, "The next sync starts within minutes, and tries again.")


@admin.register(WebhookEvent)
class WebhookEventAdmin(LiveAccountAdmin):
    """Hides the body, as it holds values that are redacted elsewhere."""

    list_display = ("received_at", "event", "object_id", "outcome", "attempts", "error")
    list_filter = ("outcome", "event")
    exclude = ("body",)
    actions = ("apply_again",)

    @admin.action(description="Apply failed events again", permissions=["retry"])
    def apply_again(self, request: HttpRequest, events: QuerySet[WebhookEvent]) -> None:
        again = events.filter(outcome=WebhookEvent.EventOutcome.FAILED)
        count = again.update(outcome=WebhookEvent.EventOutcome.WAITING, attempts=0)
        messages.success(request, f"{count} failed events will be applied again within a minute.")
