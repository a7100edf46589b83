"""A request to a view of Django REST framework, as protection sees it."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.request import Request

from context_protection.errors import CallError, InvalidArgument
from context_protection.lists import page_span
from context_protection.payloads import Ask
from context_protection.stores import walks

FORM = ("limit", "cursor", "pages", "fields", "format")


class Refused(APIException):
    """A CallError in the framework's own form, so that its handler answers it as it stands."""

    def __init__(self, error: CallError) -> None:
        super().__init__()
        self.status_code, self.detail = error.status, error.document()


def ask_of(request: Request, view: Any) -> Ask:
    """What the query asks for. Raises CallError (cursor, limit)."""
    operation = _operation(request, view)
    query = request.query_params.dict()
    own = {name: value for name, value in query.items() if name not in FORM}
    caller = f"user:{request.user.pk}" if request.user and request.user.is_authenticated else "anonymous"
    walk, position = walks.resume(query["cursor"], operation, caller, own) if "cursor" in query else (None, None)
    return Ask(
        operation=operation,
        caller=caller,
        hints=lambda name, more: _hint(request, more),
        arguments=dict(walk.arguments) if walk else own,
        walk=walk,
        position=position,
        limit=_limit(query.get("limit")),
        fields=query.get("fields"),
        format=query.get("format"),
        pages=page_span(query["pages"], with_cursor=walk is not None) if "pages" in query else None,
    )


def _operation(request: Request, view: Any) -> str:
    match = request.resolver_match
    return (match.view_name if match else "") or type(view).__name__


def _hint(request: Request, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"endpoint": request.path, "parameters": dict(arguments)}


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
