"""Tokens a day of a key: counted in memory, told to other processes, and the error when they are used up."""

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import pytest
import redis
from django.conf import settings

from gateway.access import quota_totals, quotas
from gateway.access.models import ApiKey
from gateway.access.quotas import DAY, FEW_TOKENS, Quotas
from gateway.replay import run
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors
from tests.telemetry.examples import a_call, stored

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
DESK = {"key:1": "desk"}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Quotas:
    """No count of an earlier test."""
    own = Quotas()
    for name in ("begin", "used", "add", "sync", "are_few_left", "exchange"):
        monkeypatch.setattr(quotas, name, getattr(own, name))
    return own


@pytest.fixture
def limited(doors: Doors) -> ApiKey:
    doors.choose(daily_tokens=100)
    return ApiKey.objects.get()


# -- Calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["rest", "mcp"])
def test_a_used_up_quota_is_an_error_that_says_what_to_do(limited: ApiKey, doors: Doors, transport: str):
    ask = getattr(doors, transport)
    assert "items" in ask("list_bookings", {"limit": 1}), "the call that goes over it is answered"
    error = ask("list_bookings", {"limit": 1})["error"]
    assert (error["reason"], error["code"]) == ("quota_exceeded", -32600)
    assert "of its 100 tokens of today" in error["message"]
    assert error["data"]["value"] == quotas.used(f"key:{limited.pk}")
    assert "UTC, or ask ops" in error["data"]["suggestion"]
    assert 0 < error["data"]["retry_after"] <= DAY


def test_rest_answers_429_with_retry_after(limited: ApiKey, doors: Doors):
    doors.rest("list_bookings", {"limit": 1})
    response = doors.response("/api/v1/bookings")
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) <= DAY


def test_it_is_recorded_as_policy_and_costs_no_quota(limited: ApiKey, doors: Doors):
    doors.rest("list_bookings", {"limit": 1})
    before = quotas.used(f"key:{limited.pk}")
    doors.rest("list_bookings", {"limit": 1})
    recorder.flush()
    refused = TelemetryRecord.objects.get(error_reason="quota_exceeded")
    assert (refused.origin, refused.caller) == ("policy", "tests")
    assert quotas.used(f"key:{limited.pk}") == before


def test_a_cached_answer_counts_like_any_other(doors: Doors):
    doors.choose(daily_tokens=100_000)
    caller = f"key:{ApiKey.objects.get().pk}"
    doors.rest("list_bookings", {"limit": 1})
    once = quotas.used(caller)
    doors.rest("list_bookings", {"limit": 1})
    assert quotas.used(caller) == 2 * once > 0


def test_a_larger_quota_applies_to_the_very_next_call(limited: ApiKey, doors: Doors):
    doors.rest("list_bookings", {"limit": 1})
    assert "error" in doors.rest("list_bookings", {"limit": 1})
    doors.choose(daily_tokens=None)
    assert "items" in doors.rest("list_bookings", {"limit": 1})


def test_a_replay_by_staff_neither_counts_nor_is_refused(limited: ApiKey, doors: Doors):
    doors.rest("list_bookings", {"limit": 1})
    before = quotas.used(f"key:{limited.pk}")
    assert run("list_bookings", {"limit": 1}, "tests").outcome != "error"
    assert quotas.used(f"key:{limited.pk}") == before


# -- Counts -----------------------------------------------------------------------------------------


def test_what_was_used_before_the_start_is_known(limited: ApiKey, doors: Doors):
    now = datetime.now(UTC)
    stored(a_call(caller="tests", at=now, claude_tokens=70), a_call(caller="tests", at=now, claude_tokens=50))
    stored(a_call(caller="tests", at=now, claude_tokens=9000, outcome="error", error_reason="not_found"))
    error = doors.rest("list_bookings", {"limit": 1})["error"]
    assert (error["reason"], error["data"]["value"]) == ("quota_exceeded", 120)


def test_a_new_day_begins_with_nothing():
    clock = [NOON]
    counted = Quotas(lambda: clock[0])
    counted.add("key:1", 500)
    assert counted.used("key:1") == 500
    clock[0] += DAY
    assert counted.used("key:1") == 0
    counted.add("key:1", 7)
    assert counted.used("key:1") == 7


class SharedTotals:
    """What Redis holds: the totals of all processes."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}

    def __call__(self, new: Mapping[str, int], day: datetime) -> Mapping[str, int]:
        for caller, tokens in new.items():
            self.totals[caller] = self.totals.get(caller, 0) + tokens
        return {caller: self.totals[caller] for caller in new}


def test_processes_learn_what_the_others_have_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quotas, "shared_totals", SharedTotals())
    one, two = Quotas(), Quotas()
    for each in (one, two):
        each.begin(DESK)
    one.add("key:1", 300)
    two.add("key:1", 50)
    for each in (one, two, one):
        each.sync(from_records=False)
    assert (one.used("key:1"), two.used("key:1")) == (350, 350)
    one.add("key:1", 1)
    for each in (one, two, two):
        each.sync(from_records=True)
    assert (one.used("key:1"), two.used("key:1")) == (351, 351), "nothing is counted twice"


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> tuple[Quotas, Quotas]:
    """Two processes with a shared store."""
    monkeypatch.setattr(quotas, "shared_totals", SharedTotals())
    monkeypatch.setattr(quotas, "shared_url", lambda: "redis://shared")
    both = Quotas(), Quotas()
    for each in both:
        each.begin(DESK)
    return both


def test_a_call_asks_the_store_when_few_tokens_are_left(two: tuple[Quotas, Quotas]):
    one, other = two
    limit = FEW_TOKENS + 300
    one.add("key:1", 300)
    assert not one.are_few_left("key:1", limit)
    one.add("key:1", 1)
    assert one.are_few_left("key:1", limit)
    one.exchange("key:1")
    other.exchange("key:1")
    assert other.used("key:1") == 301


@pytest.mark.parametrize("transport", ["rest", "mcp"])
def test_the_store_has_an_answers_tokens_before_it_is_sent_and_is_asked_before_the_next(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, transport: str
):
    store, ask = SharedTotals(), getattr(doors, transport)
    monkeypatch.setattr(quotas, "shared_totals", store)
    monkeypatch.setattr(quotas, "shared_url", lambda: "redis://shared")
    doors.choose(daily_tokens=20_000)
    caller = f"key:{ApiKey.objects.get().pk}"
    assert "items" in ask("list_bookings", {"limit": 1})
    assert store.totals[caller] == quotas.used(caller) > 0
    store.totals[caller] += 20_000  # of another process
    assert ask("list_bookings", {"limit": 2})["error"]["reason"] == "quota_exceeded"


def test_a_store_that_fails_is_not_asked_by_each_call(two: tuple[Quotas, Quotas], monkeypatch: pytest.MonkeyPatch):
    asked = list[str]()

    def away(new: Mapping[str, int], day: datetime) -> Mapping[str, int]:
        asked.extend(new)
        raise redis.ConnectionError("away")

    monkeypatch.setattr(quotas, "shared_totals", away)
    for _ in range(3):
        two[0].exchange("key:1")
    assert asked == ["key:1"]
    assert not two[0].are_few_left("key:1", limit=1)


def test_no_tokens_are_added_twice_by_threads_that_exchange_at_once(
    two: tuple[Quotas, Quotas], monkeypatch: pytest.MonkeyPatch
):
    store, both_may_be_in = SharedTotals(), threading.Barrier(2)

    def slow(new: Mapping[str, int], day: datetime) -> Mapping[str, int]:
        with suppress(threading.BrokenBarrierError):
            both_may_be_in.wait(timeout=0.2)
        return store(new, day)

    monkeypatch.setattr(quotas, "shared_totals", slow)
    two[0].add("key:1", 300)
    threads = [threading.Thread(target=two[0].exchange, args=("key:1",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.totals == {"key:1": 300}


@pytest.mark.skipif(not settings.REDIS_URL, reason="needs REDIS_URL")
def test_totals_are_shared_in_redis():
    day = datetime(2026, 1, 1, tzinfo=UTC)
    caller = f"key:{time.time_ns()}"
    assert quota_totals.shared_totals({caller: 5}, day) == {caller: 5}
    assert quota_totals.shared_totals({caller: 7}, day) == {caller: 12}


def test_a_counter_that_fails_fails_no_call(
    fresh: Quotas, doors: Doors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def away(new: Mapping[str, int], day: datetime) -> Mapping[str, int]:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(quotas, "shared_totals", away)
    with caplog.at_level(logging.WARNING):
        doors.choose(daily_tokens=100)
        assert "items" in doors.rest("list_bookings", {"limit": 1})
        fresh.sync(from_records=False)
    assert doors.rest("list_bookings", {"limit": 1})["error"]["reason"] == "quota_exceeded"
    assert sum("counts quotas alone" in record.message for record in caplog.records) == 1
