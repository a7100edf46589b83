"""The REST API: viewsets that call the dispatcher."""

from typing import Any, ClassVar, cast

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Envelope
from context_protection.core.policy import Kind
from context_protection.renderers import ProtectedJSONRenderer
from gateway.api.call import called
from gateway.api.pagination import OperationPagination
from gateway.api.schema import ResourceSchema, any_operation, any_operation_by_query
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.query_string import from_query


class ResourceViewSet(GenericViewSet[Any]):
    """A list operation, and the operation that returns one of its records. Either may be missing."""

    list_operation: ClassVar[str] = ""
    record_operation: ClassVar[str] = ""
    pagination_class = OperationPagination
    renderer_classes = (ProtectedJSONRenderer,)
    schema = ResourceSchema()
    lookup_field = "id"
    lookup_value_regex = "[^/]+"

    def list(self, request: Request) -> Response:
        return self.get_paginated_response(self.paginate_queryset(cast(Any, None)))

    def retrieve(self, request: Request, id: str) -> Response:
        operation = catalogue.get(self.record_operation)
        query = request.query_params.copy()
        query["id"] = id
        return Response(called(request, operation.name, from_query(operation, query)))


class ListingViewSet(ResourceViewSet):
    list_operation = "list_listings"
    record_operation = "get_listing"


class BookingViewSet(ResourceViewSet):
    list_operation = "list_bookings"
    record_operation = "get_booking"


class TransactionViewSet(ResourceViewSet):
    list_operation = "list_transactions"
    record_operation = "get_transaction"


class DocumentViewSet(ResourceViewSet):
    list_operation = "list_documents"
    record_operation = "read_document"


class ToolView(APIView):
    """Any operation, with its arguments as a JSON object; a read-only operation also with a query string."""

    @any_operation_by_query
    def get(self, request: Request, name: str) -> Response:
        operation = catalogue.get(name, cast(Caller, request.user).tools.hidden)
        if operation.kind is Kind.ACTION:
            raise MethodNotAllowed("GET")
        return _response(called(request, name, from_query(operation, request.query_params)))

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
        return _response(called(request, name, arguments))


def _response(envelope: Envelope) -> Response:
    return Response(envelope, status=envelope.failure.status if envelope.failure else 200)
