"""Decides who may see pages outside the API. Pages with figures and the API's documentation reveal details of the
account, so they are for staff and for holders of a key."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import caller_of
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.error_pages import key_needed

View = Callable[..., HttpResponseBase]


def may_see_details(request: HttpRequest) -> bool:
    """Whether the request comes from staff or carries a valid key. Raises NotAuthenticated for an invalid key."""
    if settings.PUBLIC_PAGES or admin.site.has_permission(request):
        return True
    authorization = request.headers.get("Authorization", "")
    if has_key(authorization):
        caller_of(authorization, Visit.of_request(request, Transport.PAGE))
        return True
    return False


def has_key(authorization: str) -> bool:
    """Whether the header carries a key, valid or not. A proxy may use other schemes for itself."""
    return authorization.lower().startswith("bearer ")


def varies_by_visitor(view: View) -> View:
    """Decorates views that call `may_see_details`: answers 401 if that rejects the key, and sets Vary."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **options)
        except NotAuthenticated as error:
            response = key_needed(request, error)
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return response

    return answered


def known_visitors_only(view: View) -> View:
    """Anonymous visitors get 401 with an explanation of how to log in."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        if may_see_details(request):
            return view(request, *args, **options)
        raise NotAuthenticated(
            "This page is for callers with a key and for staff.",
            reason="not_authenticated",
            parameter="Authorization",
            value="(not sent)",
            expected="Bearer and an API key, or the session of a member of staff",
            suggestion="Send Authorization: Bearer <key>, or log in at /admin/. The operator can open the page to all "
            "with PUBLIC_PAGES=true.",
        )

    return varies_by_visitor(answered)
