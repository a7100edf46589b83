"""Keys that were refused are counted up: a row per address and minute, in any flood."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError

from telemetry import rejections, retention, tasks
from telemetry.metrics import metrics_text
from telemetry.models import RejectedKey
from telemetry.rejections import MAX_ADDRESSES, OTHERS, Rejection, store
from tests.telemetry.examples import NOON

pytestmark = pytest.mark.django_db

HINT = "slc_abc123"


def a_rejection(seconds: float = 0, address: str = "192.0.2.1", transport: str = "rest", hint: str = "") -> Rejection:
    return Rejection(NOON + timedelta(seconds=seconds), transport, address, hint)


def rows(*names: str) -> list[Any]:
    return list(RejectedKey.objects.order_by("minute", "address").values_list(*names))


def test_an_address_has_one_row_a_minute_however_it_is_stored():
    store([a_rejection(0), a_rejection(59.9), a_rejection(60)])
    store([a_rejection(30), a_rejection(30, "192.0.2.2")])
    assert rows("minute", "address", "attempts") == [
        (NOON, "192.0.2.1", 3),
        (NOON, "192.0.2.2", 1),
        (NOON + timedelta(minutes=1), "192.0.2.1", 1),
    ]


def test_a_row_tells_of_the_last_and_keeps_a_hint():
    store([a_rejection(1, transport="rest", hint=HINT), a_rejection(2, transport="websocket")])
    store([a_rejection(3, transport="http")])
    assert rows("transport", "hint", "last_at") == [("http", HINT, NOON + timedelta(seconds=3))]
    store([a_rejection(4, transport="page", hint="slc_zzz999")])
    assert rows("transport", "hint") == [("page", "slc_zzz999")]


def test_a_flood_of_ten_thousand_is_one_row():
    for _ in range(10_000):
        rejections.record(a_rejection())
    assert rejections.state().queued == 10_000
    assert rejections.flush()
    assert rows("address", "attempts") == [("192.0.2.1", 10_000)]


def test_what_waits_is_bounded_and_what_is_lost_is_counted():
    for _ in range(10_100):
        rejections.record(a_rejection())
    assert (rejections.state().queued, rejections.state().dropped) == (10_000, 100)
    assert b"sluice_rejected_keys_dropped_total 100.0" in metrics_text()[0]


def test_a_flood_from_everywhere_has_a_bounded_number_of_rows():
    addresses = [f"2001:db8::{number:x}" for number in range(1, MAX_ADDRESSES + 501)]
    for _ in range(2):
        for each in addresses:
            rejections.record(a_rejection(address=each))
    rejections.flush()
    assert RejectedKey.objects.count() == MAX_ADDRESSES + 1
    assert RejectedKey.objects.get(address=OTHERS).attempts == 2 * 500
    rejections.record(a_rejection(address=addresses[0]))
    rejections.record(a_rejection(address="192.0.2.77"))
    rejections.flush()
    assert RejectedKey.objects.get(address=addresses[0]).attempts == 3, "who has a row keeps it"
    assert RejectedKey.objects.get(address=OTHERS).attempts == 2 * 500 + 1
    store([a_rejection(60, address="192.0.2.77")])
    assert rows("address")[-1] == ("192.0.2.77",), "the next minute has room again"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", "unknown"),
        ("x" * 5000, "unknown"),
        ("1.2.3.4\0'; --", "unknown"),
    ],
)
def test_an_address_has_one_spelling_and_what_is_none_is_unknown(given: str, shown: str):
    store([a_rejection(address=given)])
    assert rows("address") == [(shown,)]


def test_a_database_that_is_away_for_a_moment_loses_nothing(monkeypatch: pytest.MonkeyPatch):
    def away(*_: Any) -> Any:
        raise DatabaseError

    rejections.record(a_rejection())
    with monkeypatch.context() as patch:
        patch.setattr(rejections, "_within_bounds", away)
        assert not rejections.flush()
    assert rejections.flush()
    assert rows("attempts") == [(1,)]


def test_they_are_counted_for_prometheus_by_transport():
    def counted() -> float:
        lines = metrics_text()[0].decode().splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.startswith('sluice_rejected_keys_total{transport="sse"}')
        )

    before = counted()
    store([a_rejection(transport="sse")] * 3)
    assert counted() == before + 3


def test_they_are_forgotten_after_the_retention(settings: Any):
    settings.TELEMETRY_RETENTION_DAYS = 30
    store([a_rejection(-30 * 86_400 - 60), a_rejection(-30 * 86_400), a_rejection(0)])
    assert retention.purge_old_rejected_keys(now=NOON) == 1
    assert RejectedKey.objects.count() == 2


def test_the_hourly_task_forgets_them_too():
    store([Rejection(datetime(2020, 1, 1, tzinfo=UTC), "rest", "192.0.2.1", "")])
    tasks.purge_old_calls()
    assert not RejectedKey.objects.exists()
