"""/api/v1/…, and the addresses that older clients know (ruling 18)."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from gateway.api.views import ResourceViewSet, ToolView

RESOURCES = {
    "listings": ("list_listings", "get_listing"),
    "bookings": ("list_bookings", "get_booking"),
    "transactions": ("list_transactions", "get_transaction"),
    "documents": ("list_documents", "read_document"),
}
ALIASES = {"listings": "listings", "bookings": "bookings", "reservations": "bookings"}


def _view_set(resource: str) -> type[ResourceViewSet]:
    list_operation, record_operation = RESOURCES[resource]
    attributes = {"list_operation": list_operation, "record_operation": record_operation}
    return type(f"{resource.capitalize()}ViewSet", (ResourceViewSet,), attributes)


def _router(addresses: dict[str, str]) -> SimpleRouter:
    router = SimpleRouter(trailing_slash=False)
    for address, resource in addresses.items():
        router.register(address, _view_set(resource), basename=address)
    return router


urlpatterns = [
    path("v1/", include(_router({resource: resource for resource in RESOURCES}).urls)),
    path("v1/tools/<str:name>", ToolView.as_view()),
    path("", include(_router(ALIASES).urls)),
]
