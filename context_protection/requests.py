"""The state of protection for one request to an ordinary Django view.

The state is stored on the request, so that paginator, renderer and middleware apply the same policy (law 6).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, QueryDict
from rest_framework.exceptions import APIException

from context_protection.configuration.policies import policy_for
from context_protection.core.cursors import Snapshot
from context_protection.core.errors import CallError, InvalidArgument, OverBudget
from context_protection.core.list_positions import page_span
from context_protection.core.payloads import AnswerRequest, Envelope
from context_protection.core.policy import DEFAULTS, Kind, Policy
from context_protection.stores.snapshots import snapshots

# Query parameters that protection reads. Records are not paged and have no format, so there `limit` and `format`
# belong to the view.
LIST_FORM = ("limit", "cursor", "pages", "fields", "format")
RECORD_FORM = ("cursor", "fields")

SEALED = "gAAAA"  # prefix of all our cursors: Fernet's version byte and a timestamp before 2106
LONGEST_VALUE = 200  # characters of the longest query value that a hint repeats
LONGEST_HINT = 2000  # characters of the longest path with all its query values

_ATTRIBUTE = "_context_protection"  # the attribute of the request that stores its Protection

logger = logging.getLogger(__name__)


class APICallError(APIException):
    """A CallError as an exception of REST framework, whose handler sends its status and document unchanged."""

    def __init__(self, error: CallError) -> None:
        super().__init__()
        self.status_code, self.detail = error.status, error.document()


@dataclass
class Protection:
    """The state of protection during one request, and its result."""

    operation: str  # the view's name, for which budgets are set
    policy: Policy
    query: QueryDict  # the query as it was sent; a sealed cursor is hidden from the view
    kind: Kind | None = None
    envelope: Envelope | None = None
    error: CallError | None = None


def protection_of(request: Any) -> Protection:
    """The Protection of a Django or REST framework request; created at the first call."""
    plain: HttpRequest = getattr(request, "_request", request)
    if not hasattr(plain, _ATTRIBUTE):
        match = plain.resolver_match
        operation = match.view_name if match else ""
        setattr(plain, _ATTRIBUTE, Protection(operation, _policy(operation), plain.GET))
    protection: Protection = getattr(plain, _ATTRIBUTE)
    return protection


def _policy(operation: str) -> Policy:
    """The policy that ops have set; the defaults if it cannot be read, because requests must be answered (law 5)."""
    try:
        return policy_for(operation)
    except DatabaseError as error:
        logger.warning("budgets cannot be read; the defaults apply", extra={"error": type(error).__name__})
        return DEFAULTS


def is_sealed(cursor: str | None) -> bool:
    """Whether the text looks like one of our cursors; views may have their own."""
    return cursor is not None and cursor.startswith(SEALED)


def answer_request_of(request: Any, form: tuple[str, ...], *, any_cursor: bool = False) -> AnswerRequest:
    """Builds the request for protection from the query. A cursor that is not ours is an argument of the view; with
    `any_cursor`, every cursor is treated as ours. Raises CallError (cursor, limit, pages)."""
    query = protection_of(request).query
    cursor = query.get("cursor")
    resumes = cursor is not None and (any_cursor or is_sealed(cursor))
    ours = {name for name in form if name != "cursor" or resumes}
    own = {name: _own(values) for name, values in query.lists() if name not in ours}
    caller = _caller(request)
    snapshot, position = (
        snapshots.resume(cursor, request.path, caller, own) if cursor is not None and resumes else (None, None)
    )
    return AnswerRequest(
        operation=request.path,  # one view may serve many paths; a snapshot belongs to one
        caller=caller,
        hints=lambda name, more: _hint(request.path, more),
        arguments=dict(snapshot.arguments) if snapshot else own,
        snapshot=snapshot,
        position=position,
        limit=_limit(query.get("limit")) if "limit" in form else None,
        fields=query.get("fields"),
        format=query.get("format") if "format" in form else None,
        pages=_pages(query.get("pages"), snapshot) if "pages" in form else None,
    )


def _own(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values


def _caller(request: Any) -> str:
    user = getattr(request, "user", None)
    return f"user:{user.pk}" if user is not None and user.is_authenticated else "anonymous"


def _hint(path: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"endpoint": path, "parameters": dict(arguments)}


def check_hints(answer_request: AnswerRequest) -> None:
    """Raises InvalidArgument (value_too_long) if the query is too long for hints to repeat. Call it only for responses
    that have hints: whole or paged responses may be requested with values of any length."""
    texts = {name: _texts(value) for name, value in answer_request.arguments.items()}
    sizes = {name: len(name) + sum(map(len, each)) for name, each in texts.items()}
    too_long = any(len(text) > LONGEST_VALUE for each in texts.values() for text in each)
    if too_long or len(answer_request.operation) + sum(sizes.values()) > LONGEST_HINT:
        longest = max(sizes, key=lambda name: sizes[name], default="")
        raise _too_long(longest, answer_request.arguments.get(longest))


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _too_long(name: str, value: Any) -> OverBudget:
    return OverBudget(
        "The answer is too large to be sent whole, and the query is too long to be repeated in hints for its parts.",
        reason="value_too_long",
        parameter=name,
        value=value,
        expected=f"values of at most {LONGEST_VALUE} characters, and {LONGEST_HINT:,} in all",
        suggestion="Send fields=all to have everything in pages, or the fields that you need by name.",
    )


def _pages(text: Any, snapshot: Snapshot | None) -> tuple[int, int] | None:
    return None if text is None else page_span(str(text), with_cursor=snapshot is not None)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(
            "limit must be a whole number.",
            reason="invalid_limit",
            parameter="limit",
            value=text,
            expected="a whole number",
            suggestion="Leave limit out for the default page.",
        ) from None
