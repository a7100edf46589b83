"""Django's admin site with Sluice's name and style (templates/admin/base_site.html), throttled logins, second factors,
and sessions that expire after inactivity."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.views import PasswordChangeView, redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from gateway.error_pages import answer_page
from gateway.logins import second_factor, sessions
from gateway.logins.forms import OwnPasswordForm
from gateway.logins.pages import LoginPage, code_page, second_factor_page
from gateway.logins.throttle import LockedOut

unreported = method_decorator(sensitive_post_parameters("code", "setup"))  # masks these fields in error reports


def answers_lockout(page: Callable[..., Any]) -> Any:
    """Answers 429 with Retry-After when the page raises LockedOut."""

    @wraps(page)
    def wrapped(site: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return page(site, request, *args, **kwargs)
        except LockedOut as error:
            return answer_page(request, error, "Too many failed logins", f"{error.message} {error.suggestion}")

    return wrapped


class SluiceAdminSite(AdminSite):
    site_title = "Sluice"
    site_header = "Sluice"
    index_title = "Configuration"

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the user is staff and has proved the second factor, if one exists or is required."""
        return super().has_permission(request) and second_factor.is_satisfied(request)

    def is_to_set_up(self, request: HttpRequest) -> bool:
        """Whether REQUIRE_SECOND_FACTOR is set and the user is staff without a second factor."""
        is_staff = AdminSite.has_permission(self, request)
        return is_staff and settings.REQUIRE_SECOND_FACTOR and second_factor.of(request.user) is None

    def get_urls(self) -> list[Any]:
        return [
            path("login/code/", self.login_code, name="login_code"),
            path("second-factor/", self.second_factor, name="second_factor"),
            *super().get_urls(),
        ]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        if view == self.logout:
            return view  # logging out needs no second factor
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def prolonging(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                sessions.prolong(request.session)
            response: HttpResponse = inner(request, *args, **kwargs)
            return response

        return prolonging

    @answers_lockout
    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        if request.method == "GET" and self.is_to_set_up(request):
            query = request.GET.urlencode()
            return HttpResponseRedirect(reverse("admin:second_factor") + (f"?{query}" if query else ""))
        context = {
            **self.each_context(request),
            "title": "Log in",
            "subtitle": None,
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            **(extra_context or {}),
        }
        page = LoginPage.as_view(
            extra_context=context, authentication_form=AdminAuthenticationForm, template_name="admin/login.html"
        )
        return page(request)

    @answers_lockout
    @unreported
    @method_decorator(never_cache)
    def login_code(self, request: HttpRequest) -> HttpResponse:
        return code_page(request)

    @answers_lockout
    @unreported
    @method_decorator(never_cache)
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        if not (self.has_permission(request) or self.is_to_set_up(request)):
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        sessions.prolong(request.session)
        return second_factor_page(request)

    @answers_lockout
    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        page = PasswordChangeView.as_view(
            form_class=partial(OwnPasswordForm, request=request),
            template_name="registration/password_change_form.html",
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        return page(request)
