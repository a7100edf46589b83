"""Who may see the pages that are not the API's: those of figures and of the API's description tell about the account,
and are for staff and for whoever has a key."""

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
from gateway.access.visits import PAGE, Visit
from gateway.api.errors import key_needed

View = Callable[..., HttpResponseBase]


def may_look(request: HttpRequest) -> bool:
    """Whether the request comes from staff or with a key, any valid one. Raises NotAuthenticated for a key that is
    refused."""
    if settings.PUBLIC_PAGES or admin.site.has_permission(request):
        return True
    authorization = request.headers.get("Authorization", "")
    if has_key(authorization):
        caller_of(authorization, Visit.of_request(request, PAGE))
        return True
    return False


def has_key(authorization: str) -> bool:
    """Whether the header carries a key, if only a wrong one. Other schemes are the proxy's."""
    return authorization.lower().startswith("bearer ")


def differs_by_visitor(view: View) -> View:
    """The view may ask `may_look`: a key that it refuses is answered with 401."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **options)
        except NotAuthenticated as error:
            response = key_needed(request, error)
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return response

    return answered


def for_those_known(view: View) -> View:
    """Anonymous callers get 401, with words on how to come in."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        if may_look(request):
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

    return differs_by_visitor(answered)
