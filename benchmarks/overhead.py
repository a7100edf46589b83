"""Measures the p95 latency that protection adds to a REST list (SC-005). A plain view returns the same rows."""

import statistics
from collections.abc import Callable
from typing import Any

import orjson
from django.test import Client, override_settings
from django.urls import path
from rest_framework.generics import ListAPIView
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.serializers import BaseSerializer

from benchmarks.measurement import in_turn
from context_protection.configuration.revisions import revisions
from gateway.access.models import ApiKey
from gateway.connectors.hostaway.models import Booking
from gateway.urls import urlpatterns as ours


class _Upstream(BaseSerializer[Booking]):
    def to_representation(self, instance: Booking) -> Any:
        return orjson.loads(instance.data)


class _FiftyAtATime(LimitOffsetPagination):
    default_limit = 50


class _PlainList(ListAPIView[Booking]):
    """A list as an existing API would implement it, with the same authentication."""

    queryset = Booking.objects.all()
    serializer_class = _Upstream
    pagination_class = _FiftyAtATime
    renderer_classes = (JSONRenderer,)


urlpatterns = [path("plain", _PlainList.as_view()), *ours]


def compare(runs: int) -> None:
    _, secret = ApiKey.objects.issue("bench")
    revisions.bump()
    client = Client(headers={"Authorization": f"Bearer {secret}", "Host": "127.0.0.1"})

    def call(address: str, **query: Any) -> Callable[[], bytes]:
        def work() -> bytes:
            response = client.get(address, query)
            assert response.status_code == 200, response.content
            return response.content

        return work

    works = {
        "without protection": call("/plain"),
        "a page": call("/api/v1/bookings"),
        "whole rows": call("/api/v1/bookings", fields="all"),
        "where": call("/api/v1/bookings", where='{"status":"confirmed"}'),
    }
    with override_settings(ROOT_URLCONF=__name__):
        sizes = {name: len(work()) for name, work in works.items()}
        times = in_turn(works, runs)
    base = _p95(times["without protection"])
    for name, taken in times.items():
        change = "" if name == "without protection" else f"{_p95(taken) / base - 1:+8.0%} at the p95"
        median, tail = statistics.median(taken), _p95(taken)
        print(f"  {name:20} median {median:7.2f} ms   p95 {tail:7.2f} ms {sizes[name]:9,} bytes {change}")


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
