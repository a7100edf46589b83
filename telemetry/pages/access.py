"""Who may see the pages."""

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

SEE_CALLS = "telemetry.view_telemetryrecord"


def refusal(request: HttpRequest, needed: str) -> HttpResponseBase | None:
    """The answer for who may not see a page: the login, or a 403 that names what is missing. None: may see it."""
    user: User | AnonymousUser = getattr(request, "user", AnonymousUser())
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if user.is_staff and not admin.site.has_permission(request):  # for example, the second factor was not proved
        return redirect_to_login(request.get_full_path())
    lacking = missing(user, needed)
    return _refused(request, lacking) if lacking else None


def missing(user: User | AnonymousUser, needed: str) -> str:
    """What somebody lacks to see a page; "" if nothing."""
    if not user.is_staff:
        return "the mark “staff status”"
    return "" if user.has_perm(needed) else f"the permission {needed}"


def _refused(request: HttpRequest, lacking: str) -> HttpResponse:
    return render(request, "telemetry/403.html", {"missing": lacking}, status=403)
