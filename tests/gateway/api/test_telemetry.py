"""Telemetry over REST: the figures of the pages, for who may see them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from gateway.access.models import ApiKey
from gateway.process import first_start
from telemetry import queries
from telemetry.queries import Span
from tests.telemetry.examples import a_call, a_summary, stored

pytestmark = pytest.mark.django_db
ADDRESSES = ("records", "summary", "series")


def ask(name: str, secret: str = "", /, **query: Any) -> Any:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return Client().get(f"/api/v1/telemetry/{name}", query, headers=headers)


@pytest.fixture
def reader() -> str:
    return ApiKey.objects.issue("reader", may_read_telemetry=True)[1]


@pytest.fixture
def now() -> datetime:
    """Seven calls of the last hour: three lists, two records, two failures."""
    now = datetime.now(UTC)
    for minutes in range(1, 4):
        stored(a_call(at=now - timedelta(minutes=minutes)))
    for minutes in (10, 20):
        stored(a_summary(at=now - timedelta(minutes=minutes), caller="desk"))
    for minutes in (30, 40):
        failed = {"outcome": "error", "error_reason": "upstream_failed", "origin": "upstream", "claude_tokens": 0}
        stored(a_call(at=now - timedelta(minutes=minutes), **failed))
    return now


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_key_needs_the_tick(name: str, api_key: str, reader: str):
    assert ask(name).status_code == 401
    refused = ask(name, api_key)
    assert (refused.status_code, refused.json()["error"]["reason"]) == (403, "telemetry_not_allowed")
    assert "May read telemetry" in refused.json()["error"]["data"]["suggestion"]
    assert ask(name, reader).status_code == 200


@pytest.mark.parametrize("name", ADDRESSES)
def test_staff_need_the_permission(name: str):
    users = get_user_model()._default_manager
    browser = Client()
    browser.force_login(users.create_user("guest", is_staff=True))
    refused = browser.get(f"/api/v1/telemetry/{name}")
    assert refused.status_code == 403
    assert "People with the role engineer, ops or viewer can" in refused.json()["error"]["data"]["suggestion"]
    browser.force_login(users.create_superuser("root"))
    assert browser.get(f"/api/v1/telemetry/{name}").status_code == 200


def test_the_first_key_may_read_telemetry(monkeypatch: pytest.MonkeyPatch):
    ApiKey.objects.all().delete()
    credentials = first_start.prepare(sample=False)
    assert credentials is not None
    assert ask("summary", credentials.key).status_code == 200


def test_a_summary_has_the_figures_of_the_queries(reader: str, now: datetime):
    document = ask("summary", reader, range="1h", by="tool,origin").json()
    figures = queries.totals(Span.of(now - timedelta(hours=1), now + timedelta(minutes=1)))
    assert document["figures"]["calls"] == figures.calls == 7
    assert document["figures"]["tokensSent"] == figures.tokens_sent
    assert document["figures"]["origins"] == {"upstream": 2}
    groups = {(each["tool"], each["origin"]): each["figures"]["calls"] for each in document["groups"]}
    assert groups == {("list_bookings", ""): 3, ("get_booking", ""): 2, ("list_bookings", "upstream"): 2}


def test_filters_select_and_negate(reader: str, now: datetime):
    assert ask("summary", reader, range="1h", key="desk").json()["figures"]["calls"] == 2
    assert ask("summary", reader, range="1h", tool="!list_*").json()["figures"]["calls"] == 2
    assert ask("summary", reader, range="5m").json()["figures"]["calls"] == 3


def test_a_series_has_every_bucket_and_adds_up(reader: str, now: datetime):
    buckets = ask("series", reader, range="1h", split="outcome").json()["buckets"]
    assert len(buckets) >= 60
    assert sum(each["figures"]["calls"] for each in buckets) == 7
    errors = sum(each["parts"].get("error", {"calls": 0})["calls"] for each in buckets)
    assert errors == 2


def test_records_are_paged_from_the_newest(reader: str, now: datetime):
    first = ask("records", reader, range="1h", size=4).json()
    assert (len(first["records"]), first["total"], first["isTotalExact"], first["newer"]) == (4, 7, True, None)
    rest = ask("records", reader, range="1h", size=4, before=first["older"]).json()
    assert rest["older"] is None
    times = [each["at"] for each in (*first["records"], *rest["records"])]
    assert times == sorted(times, reverse=True)
    assert len(times) == 7
    failed = ask("records", reader, range="1h", origin="upstream").json()["records"]
    assert {each["errorReason"] for each in failed} == {"upstream_failed"}


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("summary", {"tol": "x"}),
        ("summary", {"by": "colour"}),
        ("summary", {"range": "soon"}),
        ("summary", {"from": "2026-13-01"}),
        ("summary", {"from": "0001-01-01T00:00:00+14:00", "to": "0001-01-02T00:00:00Z"}),
        ("summary", {"from": "2026-11-24T13:00:00Z", "to": "2026-11-23T13:00:00Z"}),
        ("summary", {"cache": "maybe"}),
        ("summary", {"min_ms": "-1"}),
        ("summary", {"min_tokens": "2147483648"}),
        ("summary", {"min_tokens": "00000000000099999999999999999999"}),
        ("summary", {"status": "99999999999999999999"}),
        ("summary", {"tool": "list\0bookings"}),
        ("series", {"key": "!desk*\0"}),
        ("records", {"text": "\0"}),
        ("series", {"split": "colour"}),
        ("records", {"size": "100000"}),
        ("records", {"before": "nowhere"}),
    ],
)
def test_what_cannot_be_is_refused_by_name(reader: str, name: str, query: dict[str, str]):
    refused = ask(name, reader, **query)
    assert refused.status_code == 400
    error = refused.json()["error"]["data"]
    assert error["parameter"] in query
    assert error["expected"]


@pytest.mark.parametrize(
    ("query", "parameter", "value", "expected"),
    [
        ({"range": "500d"}, "range", "500d", "at most 400 days"),
        ({"range": "500d", "to": "2026-11-23T13:00:00Z"}, "range", "500d", "at most 400 days"),
        (
            {"from": "2026-11-24T13:00:00Z", "to": "2026-11-23T13:00:00Z"},
            "from",
            "2026-11-24T13:00:00Z",
            "a time before `to`, at most 400 days earlier",
        ),
        ({"tool": "x", "cache": "maybe"}, "cache", "maybe", "yes or no"),
        ({"tool": "x", "status": "!teapot"}, "status", "!teapot", "an HTTP status such as 503, or 0 for no answer"),
        ({"status": "9" * 20}, "status", "9" * 20, "an HTTP status such as 503, or 0 for no answer"),
    ],
)
def test_an_error_names_the_parameter_that_is_wrong_and_its_value(
    reader: str, query: dict[str, str], parameter: str, value: str, expected: str
):
    refused = ask("summary", reader, **query)
    assert refused.status_code == 400
    error = refused.json()["error"]["data"]
    assert (error["parameter"], error["value"], error["expected"]) == (parameter, value, expected)
