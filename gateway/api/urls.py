"""/api/v1/…, and the addresses that older clients know (ruling 18)."""

from django.urls import include, path
from drf_spectacular.utils import extend_schema_view
from rest_framework.routers import SimpleRouter

from gateway.api.schema import described, older_address
from gateway.api.views import ResourceViewSet, ToolView
from gateway.catalog.catalog import catalogue

RESOURCES = {
    "listings": ("list_listings", "get_listing"),
    "bookings": ("list_bookings", "get_booking"),
    "transactions": ("list_transactions", "get_transaction"),
    "documents": ("list_documents", "read_document"),
}
ALIASES = {"listings": "listings", "bookings": "bookings", "reservations": "bookings"}


def _view_set(resource: str, *, canonical: bool) -> type[ResourceViewSet]:
    list_operation, record_operation = RESOURCES[resource]
    attributes = {"list_operation": list_operation, "record_operation": record_operation}
    view_set = type(f"{resource.capitalize()}ViewSet", (ResourceViewSet,), attributes)
    return extend_schema_view(
        list=described(catalogue.get(list_operation)) if canonical else older_address,
        retrieve=described(catalogue.get(record_operation)) if canonical else older_address,
    )(view_set)


def _router(addresses: dict[str, str], *, canonical: bool) -> SimpleRouter:
    router = SimpleRouter(trailing_slash=False)
    for address, resource in addresses.items():
        router.register(address, _view_set(resource, canonical=canonical), basename=address)
    return router


urlpatterns = [
    path("v1/", include(_router({resource: resource for resource in RESOURCES}, canonical=True).urls)),
    path("v1/tools/<str:name>", ToolView.as_view()),
    path("", include(_router(ALIASES, canonical=False).urls)),
]
