"""The routes below /api/v1/, and the unversioned paths of older clients."""

from collections.abc import Iterable

from django.urls import URLPattern, URLResolver, include, path
from rest_framework.routers import SimpleRouter

from gateway.api.configuration import EffectiveView, ValidationView
from gateway.api.schema import VERSION
from gateway.api.telemetry.views import ExperimentReportView, RecordsView, SeriesView, SummaryView
from gateway.api.views import (
    BookingViewSet,
    DocumentViewSet,
    ListingViewSet,
    ResourceViewSet,
    ToolView,
    TransactionViewSet,
)
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation

RESOURCES = {
    "listings": ListingViewSet,
    "bookings": BookingViewSet,
    "transactions": TransactionViewSet,
    "documents": DocumentViewSet,
}
UNVERSIONED = {"listings": ListingViewSet, "bookings": BookingViewSet, "reservations": BookingViewSet}


def _routes(view_sets: dict[str, type[ResourceViewSet]]) -> list[URLPattern | URLResolver]:
    router = SimpleRouter(trailing_slash=False)
    for address, view_set in view_sets.items():
        router.register(address, view_set, basename=address)
    return router.urls


def connector_routes(operations: Iterable[Operation]) -> list[URLPattern]:
    """A route for each operation that a connector publishes at a resource path: a list, or one record at …/{id}."""
    declared = {name for each in RESOURCES.values() for name in (each.list_operation, each.record_operation)}
    return [
        _route(each.endpoint.removeprefix(VERSION), each.name)
        for each in operations
        if each.name not in declared and each.endpoint.startswith(VERSION) and "/tools/" not in each.endpoint
    ]


def _route(address: str, operation: str) -> URLPattern:
    if address.endswith("/{id}"):
        view = ResourceViewSet.as_view({"get": "retrieve"}, record_operation=operation)
        return path(address.replace("{id}", "<str:id>"), view)
    return path(address, ResourceViewSet.as_view({"get": "list"}, list_operation=operation))


v1 = [
    *_routes(RESOURCES),
    *connector_routes(catalogue),
    path("tools/<str:name>", ToolView.as_view()),
    path("config", EffectiveView.as_view()),
    path("config/validate", ValidationView.as_view()),
    path("telemetry/records", RecordsView.as_view()),
    path("telemetry/summary", SummaryView.as_view()),
    path("telemetry/series", SeriesView.as_view()),
    path("telemetry/experiments/<slug:name>", ExperimentReportView.as_view()),
]
urlpatterns = [path("v1/", include(v1)), path("", include(_routes(UNVERSIONED)))]
