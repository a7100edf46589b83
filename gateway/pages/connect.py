"""The page /connect/: configuration for each client, and whether it works."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from gateway.access.models import ApiKey
from gateway.pages.client_config import ConnectionDetails, client_configs, for_staff


@require_safe
def connect(request: HttpRequest) -> HttpResponse:
    """Everybody sees addresses and a placeholder for the key, which is never part of a link. Staff also see the real
    path, and the page shows when the key named by `?key=` makes its first call."""
    base = request.build_absolute_uri("/").rstrip("/")
    is_staff = admin.site.has_permission(request)
    keys = ApiKey.objects.filter(revoked_at=None) if is_staff and request.user.has_perm("access.view_apikey") else None
    context = {
        "client_configs": client_configs(for_staff(base) if is_staff else ConnectionDetails(base)),
        "keys": keys,
        "key": keys.filter(name=request.GET["key"]).first() if keys is not None and "key" in request.GET else None,
        "since": timezone.now().isoformat(),
    }
    response = render(request, "connect.html", context)
    response["Cache-Control"] = "no-store"
    return response
