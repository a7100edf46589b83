"""Resources over REST: those of the product, and whatever a connector gives an address."""

from dataclasses import replace

import pytest
from django.test import override_settings
from django.urls import include, path

from context_protection.pagination import WalkPagination
from context_protection.renderers import ProtectedJSONRenderer
from gateway.api import urls
from gateway.api.views import ResourceViewSet
from gateway.catalog.catalog import catalogue
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def test_an_operation_of_any_connector_answers_at_the_address_it_names(doors: Doors):
    names = {"list_bookings": "stays", "get_booking": "stays/{id}"}
    operations = [
        replace(catalogue.get(name), name=f"{name}_again", endpoint=f"/api/v1/{address}")
        for name, address in names.items()
    ]
    catalogue.offer(operations)
    routes = (path("api/v1/", include(urls.connector_routes([*catalogue]))),)
    try:
        with override_settings(ROOT_URLCONF=routes):
            page = doors.get("/api/v1/stays", {"limit": 2})
            record = doors.get(f"/api/v1/stays/{page['items'][0]['id']}")
    finally:
        for operation in operations:
            catalogue.withdraw(operation.name)
    assert len(page["items"]) == 2
    assert record.get("summary", record)["id"] == page["items"][0]["id"]
    assert len(routes[0].url_patterns) == len(names), "the product's own resources have viewsets of their own"


@pytest.mark.parametrize("view_set", urls.RESOURCES.values())
def test_resources_are_paged_and_rendered_by_context_protection(view_set: type[ResourceViewSet]):
    assert issubclass(view_set.pagination_class, WalkPagination)  # type: ignore[arg-type]
    assert tuple(view_set.renderer_classes) == (ProtectedJSONRenderer,)
