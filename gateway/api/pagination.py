"""Cursor pagination for operations: the page comes from the dispatcher."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from context_protection.pagination import WalkPagination
from gateway.api.call import called
from gateway.catalog.catalog import catalogue
from gateway.catalog.query_string import from_query


class OperationPagination(WalkPagination):
    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Calls the view's list operation with the query's arguments. There is no queryset to read."""
        operation = catalogue.get(view.list_operation)
        self.envelope = called(request, operation.name, from_query(operation, request.query_params))
        return []

    def get_paginated_response(self, data: Any) -> Response:
        return Response(self.envelope)  # the renderer writes its body; nothing parses it

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []  # the operation's own schema describes them
