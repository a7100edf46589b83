"""The admin site of Sluice: Django's own, under our name and style (templates/admin/base_site.html), with logins that
are throttled and sessions that end."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from gateway.api.errors import answer_page
from gateway.logins import sessions
from gateway.logins.forms import OwnPasswordForm
from gateway.logins.throttle import LockedOut


def tells_lockout(page: Callable[..., Any]) -> Any:
    """429 with Retry-After, for people or programs."""

    @wraps(page)
    def told(site: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return page(site, request, *args, **kwargs)
        except LockedOut as error:
            return answer_page(request, error, "Too many failed logins", f"{error.message} {error.suggestion}")

    return told


class SluiceAdminSite(AdminSite):
    site_title = "Sluice"
    site_header = "Sluice"
    index_title = "Operations"

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def prolonging(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                sessions.prolong(request.session)
            response: HttpResponse = inner(request, *args, **kwargs)
            return response

        return prolonging

    @tells_lockout
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().login(request, extra_context)

    @tells_lockout
    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        page = PasswordChangeView.as_view(
            form_class=partial(OwnPasswordForm, request=request),
            template_name="registration/password_change_form.html",
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        return page(request)
