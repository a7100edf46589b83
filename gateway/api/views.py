"""The REST door: a thin shell around the corridor."""

from typing import Any, ClassVar, cast

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Kind
from gateway.access.callers import Caller
from gateway.api.query import from_query
from gateway.api.schema import any_operation, any_operation_by_query
from gateway.catalog.catalog import catalogue
from gateway.dispatch import hints
from gateway.dispatch.dispatch import Call, serve_blocking


def answer(request: Request, operation: str, arguments: dict[str, Any]) -> Response:
    caller = cast(Caller, request.user)
    call = Call(operation=operation, arguments=arguments, caller=caller, door="rest", hints=hints.rest)
    return Response(serve_blocking(call))


class ResourceViewSet(ViewSet):
    """A list operation and the operation that opens one of its rows."""

    list_operation: ClassVar[str]
    record_operation: ClassVar[str]
    lookup_field = "id"
    lookup_value_regex = "[^/]+"

    def list(self, request: Request) -> Response:
        arguments = from_query(catalogue.get(self.list_operation), request.query_params)
        return answer(request, self.list_operation, arguments)

    def retrieve(self, request: Request, id: str) -> Response:
        operation = catalogue.get(self.record_operation)
        query = request.query_params.copy()
        query["id"] = id
        return answer(request, operation.name, from_query(operation, query))


class ToolView(APIView):
    """Any operation, with its arguments as a JSON object; one that only reads also with a query."""

    @any_operation_by_query
    def get(self, request: Request, name: str) -> Response:
        operation = catalogue.get(name, cast(Caller, request.user).tools.hidden)
        if operation.kind is Kind.ACTION:
            raise MethodNotAllowed("GET")
        return answer(request, name, from_query(operation, request.query_params))

    @any_operation
    def post(self, request: Request, name: str) -> Response:
        arguments = request.data if request.data is not None else {}
        if not isinstance(arguments, dict):
            raise InvalidArgument(
                "The body is not a JSON object.",
                reason="invalid_arguments",
                parameter="body",
                value=arguments,
                expected="a JSON object of the operation's arguments",
                suggestion="Send {} for an operation without arguments.",
            )
        return answer(request, name, arguments)
