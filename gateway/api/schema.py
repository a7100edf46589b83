"""The OpenAPI document of the REST API, generated from the operations (drf-spectacular)."""

from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from context_protection.core.errors import CODES
from context_protection.core.policy import DEFAULTS, Kind
from gateway.api import error_examples, response_schemas
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation

VERSION = "/api/v1/"
ANSWERS = {
    Kind.LIST: "A page: `items` (or `table`), `nextCursor` while there is more, `meta`.",
    Kind.RECORD: "The object with `meta`, or above its budget a preview: `summary` and `meta.detailsAvailable`.",
    Kind.TEXT: "A chunk: `content`, `chunkIndex`, `totalChunks`, `nextCursor` while there is more, `metadata`, `meta`. "
    "With `search`, the matching lines.",
    Kind.ACTION: "The operation's answer, with `meta`.",
}
ALWAYS = (400, 401, 500, 502, 503, 504)  # statuses of errors that every address may return


def with_components(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A hook of drf-spectacular: adds the schemas that the responses refer to."""
    result["components"].setdefault("schemas", {}).update(response_schemas.COMPONENTS)
    return result


def errors_of(*statuses: int) -> dict[int, OpenApiResponse]:
    return {status: _error(status) for status in (*statuses, *ALWAYS)}


def _error(status: int) -> OpenApiResponse:
    examples = error_examples.BY_STATUS[status]
    codes = dict.fromkeys(each.code for each in examples)
    return OpenApiResponse(
        response_schemas.ref("Error"),
        "\n".join(f"{code}: {CODES[code]}" for code in codes),
        [OpenApiExample(each.reason, value=each.document(), response_only=True) for each in examples],
    )


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "gateway.access.rest.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "manage.py apikey create NAME prints a key."}


class StaffScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "gateway.api.access.StaffSession"
    name = "staffSession"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "A login of the admin."}


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

    def _is_list_view(self, serializer: Any = None) -> bool:
        """False, because drf-spectacular would wrap the schema of a list's page in another page."""
        return False

    def get_response_serializers(self) -> Any:
        kind = self.called.kind
        answer = OpenApiResponse(response_schemas.answer(kind), ANSWERS[kind])
        return {200: answer, **errors_of(*([404] if "{id}" in self.called.endpoint else []))}


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
    "responses": {200: OpenApiResponse(response_schemas.answer(), "The envelope."), **errors_of(404, 413)},
}
any_operation = extend_schema(
    operation_id="call_operation",
    summary="Call any operation",
    description="The operation's arguments as a JSON object; {} for none. The answer is as at the operation's address.",
    request=OpenApiTypes.OBJECT,
    **ANY_OPERATION,
)
any_operation_by_query = extend_schema(
    operation_id="read_operation",
    summary="Call any operation that only reads",
    description="The operation's arguments in the query string; objects as JSON.",
    **ANY_OPERATION,
)
