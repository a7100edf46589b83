"""The page with the secret of a new or rotated key. It is the direct response to the form, so no secret is stored."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from gateway.access.models import ApiKey
from telemetry import wording
from telemetry.pages.address import Address
from telemetry.pages.shell import show


def secret_page(request: HttpRequest, key: ApiKey, secret: str) -> HttpResponse:
    """Sent with `no-store`, like all pages of `show`. It says how long a replaced secret still works."""
    return show(
        request,
        Address.of(request),
        "keys/secret.html",
        title=f"Key {key.name}",
        sentence=f"The old secret {key.previous_prefix}… works until {wording.minute(key.previous_until)}."
        if key.previous_until
        else "",
        has_comparison=False,
        has_recorder_notes=False,
        key=key,
        secret=secret,
        since=timezone.now().isoformat(),
    )
