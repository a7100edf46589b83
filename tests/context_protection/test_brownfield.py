"""An existing project's views are protected by settings alone: pages, tables, previews, errors; none of them edited."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler

from gateway.connectors.hostaway.models import Booking
from tests import crawler
from tests.context_protection.brownfield import BookingViewSet

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.context_protection.brownfield")]


@pytest.fixture(autouse=True)
def protected_by_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """DEFAULT_PAGINATION_CLASS and DEFAULT_RENDERER_CLASSES, as the framework hands them to a view class."""
    from context_protection.pagination import WalkPagination
    from context_protection.renderers import ProtectedJSONRenderer

    monkeypatch.setattr(BookingViewSet, "pagination_class", WalkPagination)
    monkeypatch.setattr(BookingViewSet, "renderer_classes", [ProtectedJSONRenderer])
    monkeypatch.setattr(BookingViewSet, "get_exception_handler", lambda view: exception_handler)
    assert [ProtectedJSONRenderer] == api_settings.DEFAULT_RENDERER_CLASSES


def ask(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    address = "/old/" if operation == "list" else f"/old/{arguments['id']}/"
    query = {name: value for name, value in arguments.items() if name != "id"}
    document: dict[str, Any] = Client().get(address, query).json()
    return document


def test_a_list_comes_in_pages_that_fit_and_every_row_once():
    pages = list(crawler.pages(ask, "list", {}))
    ids = [row["id"] for page in pages for row in crawler.rows(page)]
    expected = Booking.objects.exclude(status="cancelled").order_by("-inserted_on", "-id")
    assert ids == list(expected.values_list("id", flat=True))
    assert all(page["meta"]["estimatedTokens"] <= 4000 for page in pages)


def test_the_views_own_filters_hold_to_the_end_of_the_walk_even_if_they_are_not_sent_again():
    first = ask("list", {"status": "inquiry", "limit": 20})
    second = ask("list", {"cursor": first["nextCursor"]})
    rows = crawler.rows(first) + crawler.rows(second)
    assert {row["status"] for row in rows} == {"inquiry"}
    assert first["meta"]["totalCount"] == Booking.objects.filter(status="inquiry").count()


def test_a_single_object_over_its_budget_is_a_preview_that_leads_to_the_whole():
    preview = Client().get("/old/43000003/").json()
    assert crawler.is_preview(preview)
    more = preview["meta"]["detailsAvailable"]
    assert more["endpoint"] == "/old/43000003/"
    whole: Any = None
    query = dict(more["parameters"])
    while True:
        part = Client().get(more["endpoint"], query).json()
        whole = crawler.own(part) if whole is None else {**whole, **crawler.own(part)}
        cursor = crawler.next_of_record(part)
        if cursor is None:
            break
        query["cursor"] = cursor
    assert whole["data"] == Booking.objects.get(id=43000003).data


def test_errors_are_as_designed():
    answer = Client().get("/old/", {"limit": 0})
    assert answer.status_code == 400
    assert answer.json()["error"]["data"]["parameter"] == "limit"
    assert Client().get("/old/", {"cursor": "x"}).json()["error"]["reason"] == "cursor_invalid"
    assert Client().get("/old/1/").status_code == 404
    assert Client().get("/old/43000003/", {"fields": "nope"}).status_code == 400
