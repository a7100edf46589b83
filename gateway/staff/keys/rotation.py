"""Gives a key a new secret. The old one works for a day longer, so that its clients can be changed one by one."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from context_protection.reasons import LONGEST_REASON, give_reason, reason_in
from gateway.access.models import ROTATION, ApiKey
from gateway.access.secret_page import secret_page
from telemetry.pages.address import Address
from telemetry.pages.shell import page, show

CHANGE = "access.change_apikey"


@page(needs=CHANGE)
@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, address: Address, key_number: int) -> HttpResponseBase:
    key = get_object_or_404(ApiKey, pk=key_number, revoked_at=None)
    if request.method == "POST":
        give_reason(key, reason_in(request.POST))
        return secret_page(request, key, key.rotate())
    still_works = key.old_secret_until(timezone.now())
    hours = int(ROTATION.total_seconds() // 3600)
    return show(
        request,
        address,
        "keys/confirm.html",
        title=f"Rotate {key.name}?",
        sentence=f"It gets a new secret, which is shown once. The old one, {key.prefix}…, works for {hours} hours.",
        has_comparison=False,
        has_recorder_notes=False,
        warning="The secret from before the last rotation stops working now." if still_works else "",
        do="Rotate",
        longest=LONGEST_REASON,
    )
