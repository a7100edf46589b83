"""GET /api/v1/telemetry/records|summary|series."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway.access.rest import ApiKeyAuthentication
from gateway.api.access import MayReadTelemetry, StaffSession
from gateway.api.schema import errors_of
from gateway.api.telemetry import documents
from gateway.api.telemetry.arguments import MOST_GROUPS, MOST_RECORDS, QueryArguments
from gateway.staff.experiments.models import Experiment
from gateway.staff.experiments.pages import document
from telemetry import queries
from telemetry.queries import DIMENSIONS

F = TypeVar("F", bound=Callable[..., Any])


def _parameter(name: str, description: str, kind: Any = str, *, many: bool = False) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, many=many)


SHARED = [
    _parameter("range", "The length of time until `to`: 15m, 24h (default), 7d."),
    _parameter("from", "Instead of range: the first moment, ISO 8601.", OpenApiTypes.DATETIME),
    _parameter("to", "The end, ISO 8601. Default: now.", OpenApiTypes.DATETIME),
    *(
        _parameter(name, "Only these calls. `!` negates, `*` matches any text; values are alternatives.", many=True)
        for name in DIMENSIONS
    ),
    _parameter("min_ms", "Only calls that took at least this many milliseconds.", int),
    _parameter("min_tokens", "Only calls that sent at least this many tokens.", int),
]


def _described(name: str, summary: str, description: str, *own: OpenApiParameter) -> Callable[[F], F]:
    answer = OpenApiResponse(OpenApiTypes.OBJECT, description)
    return extend_schema(
        operation_id=f"telemetry_{name}",
        summary=summary,
        description=f"{description} For staff who are logged in, and for keys that may read telemetry.",
        tags=["telemetry"],
        parameters=[*SHARED, *own],
        responses={200: answer, **errors_of(403)},
    )


class TelemetryView(APIView):
    authentication_classes = (StaffSession, ApiKeyAuthentication)
    permission_classes = (MayReadTelemetry,)
    renderer_classes = (JSONRenderer,)
    http_method_names = ["get", "head", "options"]


class ExperimentReportView(TelemetryView):
    @extend_schema(
        operation_id="telemetry_experiment",
        summary="An experiment",
        description="Both arms of an experiment by measure, with the difference, its 95% interval and a verdict. "
        "In shadow mode: both sizes of the same calls, and the limits of this comparison. "
        "For staff who are logged in, and for keys that may read telemetry.",
        tags=["telemetry"],
        responses={200: OpenApiResponse(OpenApiTypes.OBJECT, "The report."), **errors_of(403, 404)},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(document(get_object_or_404(Experiment, name=name)))


class RecordsView(TelemetryView):
    @_described(
        "records",
        "Single calls",
        "The newest calls first: `records`, `older` and `newer` (null at an end) to go on, `total`.",
        _parameter("text", "A request or trace id, or a part of an error's text."),
        _parameter("before", "`older` of an earlier answer."),
        _parameter("after", "`newer` of an earlier answer."),
        _parameter("size", f"Calls per page, at most {MOST_RECORDS}. Default: 50.", int),
    )
    def get(self, request: Request) -> Response:
        given = QueryArguments.of(request.query_params, "text", "before", "after", "size")
        span = given.span
        page = queries.records(
            span,
            given.selection,
            text=given.query.get("text", ""),
            before=given.position("before"),
            after=given.position("after"),
            size=given.number("size", 50, 1, MOST_RECORDS) or 50,
        )
        return Response(
            {
                "span": documents.span(span),
                "total": page.total,
                "isTotalExact": page.is_total_exact,
                "records": [documents.record(each) for each in page.records],
                "older": str(page.older) if page.older else None,
                "newer": str(page.newer) if page.newer else None,
            }
        )


class SummaryView(TelemetryView):
    @_described(
        "summary",
        "Sums of calls",
        "`figures` of all selected calls; with `by`, `groups` of them, the busiest first.",
        _parameter("by", "Dimensions to group by, such as tool or tool,origin.", many=True),
        _parameter("most", f"The most groups, up to {MOST_GROUPS}. Default: 100.", int),
    )
    def get(self, request: Request) -> Response:
        given = QueryArguments.of(request.query_params, "by", "most")
        span, selection, by = given.span, given.selection, given.dimensions("by")
        document: dict[str, Any] = {
            "span": documents.span(span),
            "figures": documents.figures(queries.totals(span, selection, wanted=queries.EVERYTHING)),
        }
        if by:
            most = given.number("most", 100, 1, MOST_GROUPS) or 100
            document["groups"] = [
                {**dict(zip(by, each.values, strict=True)), "figures": documents.figures(each.figures)}
                for each in queries.groups(span, selection, by=by, at_most=most, wanted=queries.EVERYTHING)
            ]
        return Response(document)


class SeriesView(TelemetryView):
    @_described(
        "series",
        "Sums over time",
        "`buckets` without gaps: `start`, `figures` and, with `split`, `parts` by its values.",
        _parameter("split", "A dimension, such as outcome."),
    )
    def get(self, request: Request) -> Response:
        given = QueryArguments.of(request.query_params, "split")
        span = given.span
        found = queries.series(span, given.selection, split=given.dimension("split"), wanted=queries.EVERYTHING)
        buckets = [
            {
                "start": each.start,
                "figures": documents.figures(each.figures),
                **({"parts": {str(k): documents.figures(v) for k, v in each.parts.items()}} if found.values else {}),
            }
            for each in found.buckets
        ]
        return Response({"span": documents.span(span), "buckets": buckets})
