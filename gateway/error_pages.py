"""Answers to requests that fail before or outside the API: a short page for browsers, JSON for programs."""

import re
import sys
from urllib.parse import quote

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse

from context_protection.core.budget import dumps
from context_protection.core.errors import (
    CallError,
    InternalError,
    InvalidArgument,
    NotAllowed,
    NotAuthenticated,
    UnknownOperation,
    store_unavailable,
)
from context_protection.stores.database_errors import means_unavailable
from gateway.access.callers import CHALLENGE
from telemetry.access import refusal_words, refused

STORE_SECONDS = 5  # Retry-After of a page
PERMISSION = re.compile(r"\w+\.\w+")  # app.codename
LOOK_FIRST = "If the request was meant to change something, check whether it did before you try again."
LOOKING = frozenset({"changelist", "change", "history", "simple_history"})  # pages for which a GET needs only "view"

# No template, context processor or database: the page must work when those have failed.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} | Sluice</title>
<link rel="icon" href="{static}gateway/logo.svg" type="image/svg+xml">
<link rel="stylesheet" href="{static}gateway/tokens.css">
<link rel="stylesheet" href="{static}gateway/site.css">
<script src="{static}admin/js/theme.js"></script>
</head>
<body>
<main id="main" class="wide error">
<a class="wordmark" href="/"><img src="{static}gateway/logo.svg" alt="" width="28" height="28">Sluice</a>
<h1>{title}</h1>
<p>{sentence}</p>
<p><a href="/">Home page</a> · <a href="/admin/">Admin</a> · <a href="/api/docs/">API docs</a></p>
</main>
</body>
</html>
"""


def no_such_address() -> UnknownOperation:
    return UnknownOperation(
        "There is nothing at this address.",
        reason="unknown_address",
        suggestion="/api/docs/ lists the addresses; operations answer at /api/v1/tools/{name}.",
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: a Host that is not in ALLOWED_HOSTS, a form that is too large or malformed, or a forbidden lookup in
    the query of an admin page."""
    match exception:
        case RequestDataTooBig() | TooManyFieldsSent() | TooManyFilesSent():
            error = too_large_a_form(exception)
        case DisallowedHost():
            error = InvalidArgument(
                "This server does not accept the request.",
                reason="bad_request",
                parameter="Host",
                value=request.META.get("HTTP_HOST", ""),
                expected="one of ALLOWED_HOSTS",
                suggestion="Add the host to ALLOWED_HOSTS, or connect by a name that is in it.",
            )
        case _:
            error = InvalidArgument(
                "The request is malformed or not allowed.",
                reason="bad_request",
                suggestion="Check the address and the form.",
            )
    return HttpResponse(dumps(error.document()), status=400, content_type="application/json")


def too_large_a_form(exception: RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent) -> InvalidArgument:
    match exception:
        case TooManyFieldsSent():
            most = f"{settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields"
        case TooManyFilesSent():
            most = f"{settings.DATA_UPLOAD_MAX_NUMBER_FILES:,} files"
        case _:
            most = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes of fields"
    return InvalidArgument(
        "The form or query string is too large.",
        reason="too_many_fields",
        expected=f"at most {most}",
        suggestion="Send less in one request.",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: a form with a missing or expired token, or a program that posts to a page."""
    error = NotAllowed(
        "The form's security token is missing or has expired.",
        reason="csrf_failed",
        suggestion="Open the page again and resend the form; programs call /api/v1.",
    )
    sentence = "Its security token is missing or has expired. Go back, reload the page and send the form again."
    return answer_page(request, error, "The form was not accepted", sentence)


def not_permitted(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403: staff without the permission. Their session and user were read, so the page can be a template.

    Pages of our own raise PermissionDenied("app.permission"). For pages of Django's admin, the permission follows from
    the address."""
    needed = str(exception) if PERMISSION.fullmatch(str(exception)) else _permission_of(request)
    if _is_page(request):
        return refused(request, needed)
    error = NotAllowed(
        refusal_words(request.user, needed),
        reason="not_permitted",
        suggestion="Ask an admin for the role, or log in as a user who has it.",
    )
    return HttpResponse(dumps(error.document()), status=error.status, content_type="application/json")


def _permission_of(request: HttpRequest) -> str:
    """The permission for a page of Django's admin, found by the page's URL name; "" for other pages."""
    match = request.resolver_match
    if match is None or "admin" not in match.namespaces:
        return ""
    for model in admin.site._registry:
        meta = model._meta
        action = (match.url_name or "").removeprefix(f"{meta.app_label}_{meta.model_name}_")
        if action != match.url_name:
            is_read = request.method in ("GET", "HEAD") and action in LOOKING
            verb = "view" if is_read else action if action in ("add", "delete") else "change"
            return f"{meta.app_label}.{verb}_{meta.model_name}"
    return ""


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    sentence = "The address may be mistyped, or the page may have moved."
    return answer_page(request, no_such_address(), "There is nothing at this address", sentence)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500. It also answers when a store is unavailable."""
    exception = sys.exception()
    if exception is not None and means_unavailable(exception):
        sentence = "A store that this page needs is unavailable or full. Nothing was changed; try again later."
        return answer_page(request, store_unavailable(STORE_SECONDS), "Not possible just now", sentence)
    error = InternalError("Something failed on our side.", reason="internal_error", suggestion=LOOK_FIRST)
    sentence = f"{LOOK_FIRST} If the error persists, tell the operator when it happened."
    return answer_page(request, error, "Something failed on our side", sentence)


def key_needed(request: HttpRequest, error: NotAuthenticated) -> HttpResponse:
    """401 for a page that is not public."""
    login = f"{settings.LOGIN_URL}?next={quote(request.get_full_path())}"
    sentence = f'<a href="{login}">Log in as staff</a>, or send a key: Authorization: Bearer &lt;key&gt;.'
    response = answer_page(request, error, "Log in to see this page", sentence, is_page=True)
    response["WWW-Authenticate"] = CHALLENGE
    return response


def answer_page(
    request: HttpRequest, error: CallError, title: str, sentence: str, *, is_page: bool = False
) -> HttpResponse:
    """A short page (below 2 KB) if `_is_page`, else a JSON error."""
    if _is_page(request, is_page=is_page):
        page = PAGE.format(title=title, sentence=sentence, static=settings.STATIC_URL)
        response = HttpResponse(page, status=error.status)
    else:
        response = HttpResponse(dumps(error.document()), status=error.status, content_type="application/json")
    if error.retry_after:
        response["Retry-After"] = str(error.retry_after)
    return response


def _is_page(request: HttpRequest, *, is_page: bool = False) -> bool:
    """Whether the client prefers HTML and does not call the API. `is_page`: treat the address as a page even below
    /api/."""
    if not is_page and request.path.startswith(("/api/", "/mcp")):
        return False
    return request.get_preferred_type(["application/json", "text/html"]) == "text/html"
