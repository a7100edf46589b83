"""Access to the pages."""

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

SEE_CALLS = "telemetry.view_telemetryrecord"


def refusal(request: HttpRequest, needed: str) -> HttpResponseBase | None:
    """The response to somebody who may not see a page: the login, or a 403 that names what is missing. None:
    allowed."""
    user = getattr(request, "user", AnonymousUser())
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        return _refused(request, "the mark “staff status”")
    if not admin.site.has_permission(request):  # for example, the second factor was not proved
        return redirect_to_login(request.get_full_path())
    if not user.has_perm(needed):
        return _refused(request, f"the permission {needed}")
    return None


def may_see(request: HttpRequest, needed: str) -> bool:
    """The same check where there is no page to answer with, such as on a socket."""
    user = request.user
    return user.is_staff and admin.site.has_permission(request) and user.has_perm(needed)


def _refused(request: HttpRequest, missing: str) -> HttpResponse:
    return render(request, "telemetry/403.html", {"missing": missing}, status=403)
