"""The OpenAPI document of the REST API, generated from the operations (drf-spectacular)."""

from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from context_protection.core.policy import DEFAULTS, Kind
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation

VERSION = "/api/v1/"
ANSWERS = {
    Kind.LIST: "A page: `items` (or `table`), `nextCursor` while there is more, `meta`.",
    Kind.RECORD: "The object with `meta`, or above its budget a preview: `summary` and `meta.detailsAvailable`.",
    Kind.TEXT: "A chunk: `content`, `chunkIndex`, `totalChunks`, `nextCursor` while there is more, `metadata`, `meta`.",
    Kind.ACTION: "What the operation answers, and `meta`.",
}
ERROR = OpenApiResponse(OpenApiTypes.OBJECT, "`error` with `code`, `reason`, `message` and `data`: what to do next.")


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "gateway.access.rest.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "manage.py apikey create NAME prints a key."}


class ResourceSchema(AutoSchema):
    """Describes a resource's view as the operation that it calls."""

    @property
    def called(self) -> Operation:
        view = cast(Any, self.view)
        return catalogue.get(view.list_operation if view.action == "list" else view.record_operation)

    def is_excluded(self) -> bool:
        return not self.path.startswith(VERSION)

    def get_operation_id(self) -> str:
        return self.called.name

    def get_summary(self) -> str:
        return self.called.title

    def get_description(self) -> str:  # type: ignore[override]
        return self.called.description

    def get_tags(self) -> list[str]:
        return [self.called.endpoint.split("/")[3]]

    def get_override_parameters(self) -> list[Any]:
        operation = self.called
        schemas = operation.schema(DEFAULTS)["properties"]
        return [_parameter(operation, name, schema) for name, schema in schemas.items()]

    def get_response_serializers(self) -> Any:
        answer = OpenApiResponse(OpenApiTypes.OBJECT, ANSWERS[self.called.kind])
        return {200: answer, 400: ERROR, 401: ERROR, **({404: ERROR} if "{id}" in self.called.endpoint else {})}


def _parameter(operation: Operation, name: str, schema: dict[str, Any]) -> OpenApiParameter:
    in_path = f"{{{name}}}" in operation.endpoint
    return OpenApiParameter(
        name=name,
        type=schema,
        location=OpenApiParameter.PATH if in_path else OpenApiParameter.QUERY,
        required=in_path or name in operation.required,
        description=schema.get("description", ""),
    )


ANY_OPERATION: dict[str, Any] = {
    "tags": ["tools"],
    "parameters": [OpenApiParameter("name", str, OpenApiParameter.PATH, description="The operation's name.")],
    "responses": {200: OpenApiResponse(OpenApiTypes.OBJECT, "The envelope."), 400: ERROR, 401: ERROR, 404: ERROR},
}
any_operation = extend_schema(
    operation_id="call_operation",
    summary="Call any operation",
    description="The operation's arguments as a JSON object; {} for none. The answer is that of its own address.",
    request=OpenApiTypes.OBJECT,
    **ANY_OPERATION,
)
any_operation_by_query = extend_schema(
    operation_id="read_operation",
    summary="Call any operation that only reads",
    description="The operation's arguments in the query; objects as their JSON.",
    **ANY_OPERATION,
)
