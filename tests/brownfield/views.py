"""Views of every make. None of them knows of protection."""

import asyncio
import json
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.decorators import action, api_view
from rest_framework.pagination import CursorPagination, LimitOffsetPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet, ReadOnlyModelViewSet

from tests.brownfield.models import Order, Parcel

WORDS = "A long account of what was agreed upon with the customer, and when, and by whom it was signed. "
BIG = {
    f"chapter{n}": {"title": f"Chapter {n}", "paragraphs": [f"{n}.{m} {WORDS}" for m in range(20)]} for n in range(40)
}
ROWS = [{"id": n, "name": f"Row {n}", "note": WORDS, "total": f"{n}.10"} for n in range(400)]


class OrderSerializer(serializers.ModelSerializer[Order]):
    class Meta:
        model = Order
        fields = "__all__"


class ParcelSerializer(serializers.ModelSerializer[Parcel]):
    class Meta:
        model = Parcel
        fields = "__all__"


class Orders(ModelViewSet[Order]):
    queryset = Order.objects.all()
    serializer_class = OrderSerializer

    def filter_queryset(self, queryset: Any) -> Any:
        status = self.request.query_params.get("status")
        return queryset.filter(status=status) if status else queryset

    @action(detail=False)
    def parcels(self, request: Request) -> Response:
        page = self.paginate_queryset(Parcel.objects.all())
        return self.get_paginated_response(ParcelSerializer(page, many=True).data)

    @action(detail=False)
    def users(self, request: Request) -> Response:
        page = self.paginate_queryset(User.objects.order_by("username"))
        return self.get_paginated_response([{"name": user.username} for user in page or ()])

    @action(detail=False)
    def brief(self, request: Request) -> Response:
        """The same model, with a value and a serializer of its own."""
        page = self.paginate_queryset(self.get_queryset().annotate(double=F("total") * 2))
        return self.get_paginated_response([{"id": order.pk, "double": order.double} for order in page or ()])

    @action(detail=False)
    def every_third(self, request: Request) -> Response:
        """Leaves rows out, once they were chosen, and shows the others as words."""
        page = self.paginate_queryset(self.get_queryset().order_by("pk"))
        return self.get_paginated_response([order.customer for order in page or () if order.pk % 3 == 0])

    @action(detail=False)
    def customers(self, request: Request) -> Response:
        return self.get_paginated_response(self.paginate_queryset(Order.objects.values("id", "customer")))


class ChangingOrders(Orders):
    """One address, and another form whenever it is told so."""

    form = "walked"

    def create(self, request: Request) -> Response:
        type(self).form = request.data["form"]
        return Response({})

    def list(self, request: Request) -> Response:
        if self.form == "object":
            return Response({"orders": OrderSerializer(self.get_queryset(), many=True).data})
        return super().list(request)

    def filter_queryset(self, queryset: Any) -> Any:
        return queryset[:250] if self.form == "sliced" else queryset


class Parcels(ReadOnlyModelViewSet[Parcel]):
    queryset = Parcel.objects.all()
    serializer_class = ParcelSerializer


class PlainJSONOrders(Orders):
    """Its own renderer, and the project's paginator."""

    renderer_classes = (JSONRenderer,)


class OffsetOrders(Orders):
    """Its own paginator, whose `limit` and `offset` are its own."""

    pagination_class = LimitOffsetPagination


class CursorOrders(Orders):
    """Its own paginator, with cursors of its own."""

    renderer_classes = (JSONRenderer,)

    class pagination_class(CursorPagination):  # noqa: N801
        ordering = "-placed_at"
        page_size = 60


@api_view()
def report(request: Request) -> Response:
    return Response(BIG)


@api_view()
def exact(request: Request) -> Response:
    return Response({"number": 2**70, "price": Decimal("1.10"), "half": "a\ud83d"})


def rows(request: HttpRequest) -> JsonResponse:
    """With aliases of its own for pages."""
    size = int(request.GET.get("page_size", len(ROWS)))
    start = (int(request.GET.get("page", 1)) - 1) * size
    return JsonResponse(ROWS[start : start + size], safe=False)


def document(request: HttpRequest) -> JsonResponse:
    return JsonResponse(BIG)


async def later(request: HttpRequest) -> JsonResponse:
    await asyncio.sleep(0)
    return JsonResponse(ROWS, safe=False)


def numbers(request: HttpRequest) -> JsonResponse:
    return JsonResponse([2**70, float("nan"), *range(30_000)], safe=False)


def text(request: HttpRequest) -> JsonResponse:
    return JsonResponse(WORDS * int(request.GET["times"]), safe=False)


def nested(request: HttpRequest) -> HttpResponse:
    depth = int(request.GET["depth"])
    return HttpResponse("[" * depth + "]" * depth, content_type="application/json")


def broken(request: HttpRequest) -> HttpResponse:
    return HttpResponse("{" + "x" * int(request.GET["size"]), content_type="application/json")


def untouched(request: HttpRequest, kind: str) -> Any:
    body = json.dumps(ROWS)
    if kind == "stream":
        return StreamingHttpResponse(iter([body]), content_type="application/json")
    if kind == "status":
        return HttpResponse(body, status=404, content_type="application/json")
    return HttpResponse(body, content_type="text/plain")


def budget_changes_meanwhile(request: HttpRequest) -> JsonResponse:
    from context_protection.models import TokenBudget

    TokenBudget.objects.update_or_create(operation="meanwhile", defaults={"default_page_size": 5})
    return JsonResponse(ROWS, safe=False)


def without_walks(request: HttpRequest) -> JsonResponse:
    """The store of walks goes away while the view runs."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE context_protection_storedwalk RENAME TO away")
    return JsonResponse(ROWS[: int(request.GET["rows"])], safe=False)


def walks_again(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE away RENAME TO context_protection_storedwalk")
    return HttpResponse("back", content_type="text/plain")


def calls(request: HttpRequest) -> HttpResponse:
    """What was recorded, for the tests."""
    from telemetry import recorder
    from telemetry.models import TelemetryRecord

    recorder.flush()
    fields = (
        "operation",
        "endpoint",
        "kind",
        "outcome",
        "caller",
        "error_reason",
        "estimated_tokens",
        "baseline_tokens",
    )
    return HttpResponse(
        json.dumps(list(TelemetryRecord.objects.order_by("pk").values(*fields))), content_type="text/plain"
    )


def fails(**_: Any) -> None:
    """A recorder that does."""
    raise OSError("no disk")
