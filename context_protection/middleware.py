"""Middleware that limits the size of JSON responses in an existing Django project, for any kind of view.

    MIDDLEWARE = [..., "context_protection.middleware.ProtectionMiddleware"]  # last: next to the views

Each GET has one policy, which WalkPagination and ProtectedJSONRenderer apply too. The middleware does not touch
responses that those two have protected. It protects every other JSON response: lists are paged, objects become previews
with sections. Streams, other media types and statuses other than 200 pass unchanged.

CONTEXT_PROTECTION_RECORDER names a callable that is called for every protected response and every error of protection,
with the keyword arguments that `_report` returns.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from context_protection.core import tokens
from context_protection.core.budget import Body, claude_tokens, dumps
from context_protection.core.errors import CallError, CondensingFailed
from context_protection.core.json_values import loads
from context_protection.core.policy import Policy
from context_protection.requests import Protection, is_sealed, protection_of
from context_protection.values import protect_value

JSON = "application/json"

logger = logging.getLogger(__name__)


class ProtectionMiddleware:
    """Works under WSGI and ASGI. Raises ImportError at startup if the recorder does not exist."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        recorder = getattr(settings, "CONTEXT_PROTECTION_RECORDER", "")
        self.recorder: Callable[..., Any] | None = import_string(recorder) if recorder else None
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._call_async(request)
        started = time.perf_counter()
        response: HttpResponseBase = self.get_response(request)
        if _is_json_of_a_view(request, response):
            self._finish(request, response, started)
        return response

    async def _call_async(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response: HttpResponseBase = await self.get_response(request)
        if _is_json_of_a_view(request, response):
            await sync_to_async(self._finish)(request, response, started)
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Determines the policy before the view runs (law 6), and hides our cursors from views that have their own."""
        if request.method == "GET":
            query = protection_of(request).query
            if is_sealed(query.get("cursor")):
                shown = query.copy()
                del shown["cursor"]
                request.GET = shown  # type: ignore[assignment]

    def _finish(self, request: HttpRequest, response: Any, started: float) -> None:
        protection = protection_of(request)
        if response.status_code == 200:
            _protect(request, response, protection)
        if self.recorder is not None and (protection.envelope or protection.error):
            try:
                self.recorder(**_report(request, protection, started))
            except Exception:  # telemetry may fail, the response must not (law 5)
                logger.exception("an answer was not recorded")


def _is_json_of_a_view(request: HttpRequest, response: Any) -> bool:
    """Whether the response is a view's JSON for a GET, neither streamed nor compressed."""
    return (
        request.method == "GET"
        and request.resolver_match is not None
        and not response.streaming
        and response.headers.get("Content-Type", "").partition(";")[0].strip().lower() == JSON
        and "Content-Encoding" not in response.headers
    )


def _protect(request: HttpRequest, response: Any, protection: Protection) -> None:
    """Replaces the response's body with the protected one, or with an error and its status."""
    body = response.text.encode() if response.charset.lower() not in {"utf-8", "utf8"} else response.content
    if protection.envelope is not None:
        # WalkPagination protected it, but another renderer wrote it and may have made it larger.
        if body != protection.envelope.body and not _fits(body, protection.policy):
            _write(response, protection.envelope.body)
        return
    try:
        value = loads(body)
        if isinstance(value, dict | list) or not _fits(body, protection.policy):
            _write(response, protect_value(request, value).body)
    except CallError as error:
        _write(response, dumps(error.document()), error.status)
    except (ValueError, RecursionError):  # not JSON despite its media type, or nested too deeply
        _send_if_small(response, body, protection)
    except Exception:
        logger.exception("an answer could not be protected", extra={"view": protection.operation})
        _send_if_small(response, body, protection)


def _send_if_small(response: Any, body: bytes, protection: Protection) -> None:
    """Sends a body that cannot be protected unchanged (law 5), unless it exceeds the hard cap (law 1)."""
    if _fits(body, protection.policy):
        return
    protection.error = CondensingFailed(
        "The answer is too large to be sent, and could not be divided.",
        reason="not_dividable",
        suggestion="Ask for less: a filter, a smaller range, fewer fields.",
    )
    _write(response, dumps(protection.error.document()), protection.error.status)


def _fits(body: bytes, policy: Policy) -> bool:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return False
    chars = len(text)
    counted = partial(claude_tokens, body, policy.hard_cap)
    return Body(body, chars, tokens.formula_of_length(chars), counted).fits(policy)


def _write(response: Any, body: bytes, status: int = 200) -> None:
    response.content = body
    response.status_code = status
    response.headers["Content-Type"] = JSON
    if "Content-Length" in response.headers:
        response.headers["Content-Length"] = str(len(body))


def _report(request: HttpRequest, protection: Protection, started: float) -> dict[str, Any]:
    """The recorder's keyword arguments for one response, as in telemetry.measurement.Measurement."""
    user = getattr(request, "user", None)
    report = {
        "request_id": uuid4().hex,
        "operation": protection.operation,
        "endpoint": request.resolver_match.route if request.resolver_match else "",
        "kind": protection.kind or "",
        "transport": "rest",
        "caller": user.get_username() if user is not None and user.is_authenticated else "anonymous",
        "at": datetime.now(UTC),
        "latency_ms": (time.perf_counter() - started) * 1000,
    }
    if protection.error is not None:
        return {**report, "outcome": "error", "error_reason": protection.error.reason}
    envelope = protection.envelope
    assert envelope is not None
    return {
        **report,
        "threshold": protection.policy.token_budget_threshold,
        "estimated_tokens": envelope.estimated_tokens,
        "claude_tokens": envelope.claude_tokens,
        "original_tokens": envelope.original_tokens,
        "baseline_tokens": envelope.baseline,
        "response_bytes": len(envelope.body),
        "item_count": envelope.items,
        "outcome": envelope.outcome,
        "pagination_used": envelope.paginated,
        "summarization_used": envelope.summarized,
        "chunking_used": envelope.chunked,
        "oversized": envelope.oversized,
    }
