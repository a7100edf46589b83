"""Revokes a key, after a page that shows which calls will fail."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from context_protection.reasons import LONGEST_REASON, REASON_NEEDED, give_reason, reason_in
from gateway.access.models import ApiKey
from gateway.staff.keys import usage
from gateway.staff.keys.rotation import CHANGE
from telemetry import wording
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show


@page(needs=CHANGE)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, address: Address, key_number: int) -> HttpResponseBase:
    key = get_object_or_404(usage.with_last_use(ApiKey.objects.filter(revoked_at=None)), pk=key_number)
    reason = reason_in(request.POST)
    if request.method == "POST" and reason:
        give_reason(key, reason)
        key.revoke()
        messages.success(request, f"Revoked {key.name}. Its calls fail with 401 from now on.")
        return HttpResponseRedirect(reverse("keys:keys"))
    now = timezone.now()
    return show(
        request,
        address,
        "keys/confirm.html",
        title=f"Revoke {key.name}?",
        sentence=guarded("Use", lambda: _sentence(key)).content or "What it is used for cannot be read now.",
        has_comparison=False,
        has_recorder_notes=False,
        days=guarded("Calls per day", lambda: usage.by_day(key.name, now)).content,
        warning="This cannot be undone: a revoked key stays revoked.",
        problem=REASON_NEEDED if request.method == "POST" else "",
        do="Revoke",
        longest=LONGEST_REASON,
        is_required=True,
    )


def _sentence(key: ApiKey) -> str:
    """ci-bot made 1,204 calls in 24 h, the last at 2026-11-22 14:02:37. They will fail with 401 at once; …"""
    calls = usage.last_24_hours(key.name, timezone.now()).calls
    last = key.last_used  # type: ignore[attr-defined]
    if last is None:
        return f"{key.name} has made no call that is still recorded."
    made = f"{key.name} made {wording.plural(calls, 'call')} in 24 h, the last at {wording.moment(last)}."
    return f"{made} They will fail with 401 at once; open connections close within 2 s."
