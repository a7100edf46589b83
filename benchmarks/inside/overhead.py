"""What protection adds to a REST list (SC-005), compared with a plain view that returns the same rows.

python -m benchmarks.inside.overhead BLOCKS RUNS      # a list by `where`: the milliseconds of each block, as JSON
"""

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from typing import Any

if __name__ == "__main__":
    from benchmarks.inside import environment as environment

import orjson
from django.db.models import QuerySet
from django.test import Client, override_settings
from django.urls import path
from rest_framework.generics import ListAPIView
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.serializers import BaseSerializer

from benchmarks.inside.measurement import in_turn
from context_protection.configuration.revisions import revisions
from gateway.access.models import ApiKey
from gateway.connectors.hostaway.models import Booking
from gateway.urls import urlpatterns as ours

WARM_RUNS = 10


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

    def get_queryset(self) -> QuerySet[Booking]:
        status, bookings = self.request.query_params.get("status"), super().get_queryset()
        return bookings.filter(status=status) if status else bookings


urlpatterns = [path("plain", _PlainList.as_view()), *ours]


Works = Mapping[str, Callable[[], bytes]]


def _works(**queries: tuple[str, dict[str, Any]]) -> Works:
    _, secret = ApiKey.objects.issue("bench")
    revisions.bump()
    client = Client(headers={"Authorization": f"Bearer {secret}", "Host": "127.0.0.1"})

    def call(address: str, query: dict[str, Any]) -> Callable[[], bytes]:
        def work() -> bytes:
            response = client.get(address, query)
            assert response.status_code == 200, response.content
            return response.content

        return work

    return {name: call(address, query) for name, (address, query) in queries.items()}


PLAIN = "/plain"
LIST = "/api/v1/bookings"
CONFIRMED = {"where": '{"status":"confirmed"}'}


def compare(runs: int) -> None:
    works = _works(
        plain=(PLAIN, {}), page=(LIST, {}), whole_rows=(LIST, {"fields": "all"}), where=(LIST, CONFIRMED)
    )  # fmt: skip
    with override_settings(ROOT_URLCONF=__name__):
        sizes = {name: len(work()) for name, work in works.items()}
        times = in_turn(works, runs)
    base = _p95(times["plain"].wall)
    for name, taken in times.items():
        change = "" if name == "plain" else f"{_p95(taken.wall) / base - 1:+8.0%} at the p95"
        median, tail = statistics.median(taken.wall), _p95(taken.wall)
        print(f"  {name:20} median {median:7.2f} ms   p95 {tail:7.2f} ms {sizes[name]:9,} bytes {change}")


def by_where(blocks: int, runs: int) -> dict[str, dict[str, list[float]]]:
    """A list by `where` and the plain view with the same filter: the p95 of each block, and the median of processor
    time."""
    works = _works(plain=(PLAIN, {"status": "confirmed"}), where=(LIST, CONFIRMED))
    found: dict[str, dict[str, list[float]]] = {name: {"p95": [], "cpu": []} for name in works}
    with override_settings(ROOT_URLCONF=__name__):
        in_turn(works, WARM_RUNS)
        for _ in range(blocks):
            for name, taken in in_turn(works, runs).items():
                found[name]["p95"].append(_p95(taken.wall))
                found[name]["cpu"].append(statistics.median(taken.cpu))
    return found


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    environment.load_account()
    print(json.dumps(by_where(int(sys.argv[1]), int(sys.argv[2]))))
