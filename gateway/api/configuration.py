"""GET /api/v1/config: the effective settings with their sources. POST /api/v1/config/validate: the problems of a
configuration file, and the changes that it would make."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import BudgetScope
from context_protection.layers.budgets import Budgets, ValueSource
from context_protection.layers.file.documents import JSON, YAML, FileProblem
from context_protection.layers.file.source import FileStatus, configuration_file
from context_protection.layers.file_validation import validated
from context_protection.layers.value_changes import ValueChange
from gateway.access.rest import ApiKeyAuthentication
from gateway.api.access import MayReadConfiguration, StaffSession
from gateway.api.schema import errors_of
from gateway.dispatch.configuration import current

WHO = "For staff who are logged in, and for keys that may read configuration."
ENDINGS = {"application/json": JSON[0]}  # file name endings by media type; all other types are read as YAML


class ConfigurationView(APIView):
    authentication_classes = (StaffSession, ApiKeyAuthentication)
    permission_classes = (MayReadConfiguration,)
    renderer_classes = (JSONRenderer,)


class EffectiveView(ConfigurationView):
    http_method_names = ["get", "head", "options"]

    @extend_schema(
        operation_id="configuration",
        summary="Effective settings",
        description=f"The settings in force and where each comes from. {WHO}",
        tags=["configuration"],
        parameters=[
            OpenApiParameter("operation", str, description="Only this operation. Default: all of them."),
            OpenApiParameter("caller", str, description="The settings for the key of this name."),
        ],
        responses={
            200: OpenApiResponse(
                OpenApiTypes.OBJECT,
                "`effective`: for each operation (null: all operations) and caller (null: callers without budgets of "
                "their own), each setting's `value`, `layer` (default, file, environment, admin), `scope` and `line`.",
            ),
            **errors_of(403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        configuration = current()
        budgets, caller = configuration.budgets, request.query_params.get("caller", "")
        if operation := request.query_params.get("operation"):
            places = [BudgetScope(configuration.operations.get(operation).name, caller=caller)]
        else:
            places = [each for each in budgets.places() if each.caller == budgets.own(caller) or not caller]
        return Response(
            {
                "revision": str(configuration.revision),
                "file": _status(configuration_file.status),
                "rejected": [
                    {"budget": str(scope), "problems": [each.sentence for each in problems]}
                    for scope, problems in budgets.rejected.items()
                ],
                "effective": [_effective(budgets, each) for each in places],
            }
        )


class ValidationView(ConfigurationView):
    http_method_names = ["post", "options"]
    parser_classes = ()  # the body is read as a file, because problems name its lines

    @extend_schema(
        operation_id="validate_configuration",
        summary="Try a configuration file",
        description=f"Reports the problems of a configuration file, or the changes that it would make. {WHO}",
        tags=["configuration"],
        request={"application/json": OpenApiTypes.OBJECT, "application/yaml": OpenApiTypes.STR},
        responses={
            200: OpenApiResponse(
                OpenApiTypes.OBJECT,
                "`valid`, `problems` and `warnings` (`line`, `key`, `message`), `changes` of effective values.",
            ),
            **errors_of(403, 413),
        },
    )
    def post(self, request: Request) -> Response:
        plain = request._request
        ending = ENDINGS.get(plain.content_type or "", YAML[0])
        found = validated(plain.body, ending, current().budgets)
        return Response(
            {
                "valid": not found.problems,
                "problems": _problems(found.problems),
                "warnings": _problems(found.warnings),
                "changes": [_change(each) for each in found.changes],
            }
        )


def _effective(budgets: Budgets, at: BudgetScope) -> dict[str, Any]:
    policy = budgets.resolve(at)
    settings = {
        each.canonical_name: {"value": getattr(policy, name), **_source(budgets.source(at, name))}
        for name, each in SETTINGS.items()
    }
    return {**_place(at), "settings": settings}


def _place(at: BudgetScope) -> dict[str, Any]:
    return {"operation": at.operation or None, "caller": at.caller or None}


def _source(source: ValueSource) -> dict[str, Any]:
    return {"layer": source.layer, "scope": str(source.scope) if source.scope else None, "line": source.line}


def _status(status: FileStatus) -> dict[str, Any] | None:
    if not status.path:
        return None
    return {
        "name": status.name,
        "version": status.digest or None,
        "since": status.since,
        "problems": _problems(status.problems),
    }


def _problems(found: Sequence[FileProblem]) -> list[dict[str, Any]]:
    return [{"line": each.line, "key": each.key or None, "message": each.sentence} for each in found]


def _change(change: ValueChange) -> dict[str, Any]:
    setting = SETTINGS[change.name].canonical_name
    return {**_place(change.at), "setting": setting, "before": change.before, "after": change.after}
