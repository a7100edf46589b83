"""The paginator of Django REST framework that protects a view's list as it is, by settings alone:

    REST_FRAMEWORK = {
        "DEFAULT_PAGINATION_CLASS": "context_protection.pagination.WalkPagination",
        "DEFAULT_RENDERER_CLASSES": ["context_protection.renderers.ProtectedJSONRenderer"],
    }

Views, their permissions, filters and serializers stay as they are. The walk keeps the keys of the rows that the view
had chosen at the first page.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from context_protection.errors import CallError
from context_protection.payloads import Envelope
from context_protection.pipeline import protect
from context_protection.policies import policy_for
from context_protection.querysets import SerializedRows
from context_protection.requests import FORM, Refused, ask_of
from context_protection.stores import walks


class WalkPagination(BasePagination):
    """`limit`, `cursor`, `fields` and `format` in the query; whatever else is there is what a walk is bound to."""

    envelope: Envelope

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """The page is protected here, where the queryset is known; nothing is left for the view to serialize."""
        rows = _ViewRows(
            queryset,
            serialize=lambda chosen: view.get_serializer(chosen, many=True).data,
            order=_order(queryset),
        )
        rows.viewable = view.get_queryset()
        try:
            ask = ask_of(request, view)
            self.envelope = protect(rows, ask, policy_for(ask.operation), walks)
        except CallError as error:
            raise Refused(error) from None
        return []

    def get_paginated_response(self, data: Any) -> Response:
        return Response(self.envelope)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["meta"],
            "properties": {"items": schema, "nextCursor": {"type": "string"}, "meta": {"type": "object"}},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        kinds = {"limit": "integer"}
        return [
            {"name": name, "in": "query", "required": False, "schema": {"type": kinds.get(name, "string")}}
            for name in FORM
        ]


class _ViewRows(SerializedRows):
    """Later pages find their rows among all that the view may show, whatever filters are sent along."""

    viewable: QuerySet[Any]

    def _manager(self) -> Any:
        return self.viewable


def _order(queryset: QuerySet[Any]) -> Sequence[str]:
    """The view's own order, made unique; without one, the newest key first."""
    named = [name for name in (queryset.query.order_by or queryset.model._meta.ordering) if isinstance(name, str)]
    return (*named, "-pk")
