"""Figures, recomputed in plain Python from the same calls."""

import math
from datetime import timedelta

import pytest

from telemetry import queries
from tests.telemetry.examples import NOON, a_call, calls_of_all_sorts, stored

pytestmark = pytest.mark.django_db

CALLS = list(calls_of_all_sorts(600))
LATER = NOON + timedelta(seconds=1)


@pytest.fixture
def _calls_of_all_sorts():
    stored(*CALLS)


def percentile(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def assert_figures_of(figures, calls):
    lists = [call for call in calls if call.kind == "list" and call.outcome != "error"]
    counted = [call for call in calls if call.claude_tokens]
    assert figures.calls == len(calls)
    for outcome, figure in (
        ("plain", figures.plain),
        ("paginated", figures.paginated),
        ("summarized", figures.summarized),
        ("chunked", figures.chunked),
        ("error", figures.errors),
    ):
        assert figure == sum(call.outcome == outcome for call in calls)
    claude, estimate = (sum(getattr(call, name) for call in counted) for name in ("claude_tokens", "estimated_tokens"))
    factor = claude / estimate if estimate else 1
    uncounted = sum(call.estimated_tokens for call in calls if not call.claude_tokens)
    assert figures.tokens_sent == int(claude + uncounted * factor)
    assert figures.totals["original_tokens"] == sum(call.original_tokens for call in calls)
    assert figures.tokens_baseline == int(sum(call.baseline_tokens for call in calls) * factor)
    assert figures.tokens_saved == figures.tokens_baseline - figures.tokens_sent
    assert figures.bytes_sent == sum(call.response_bytes for call in calls)
    assert figures.oversized_calls == sum(call.oversized for call in calls)
    assert figures.list_calls == len(lists)
    assert figures.paginated_list_calls == sum(call.pagination_used for call in lists)
    assert figures.counted_calls == len(counted)
    latencies = [call.latency_ms for call in calls]
    if len(calls) < 20:
        assert figures.latency == queries.Latency(None, None, None)
    else:
        assert figures.latency.p50 == pytest.approx(percentile(latencies, 50))
        assert figures.latency.p95 == pytest.approx(percentile(latencies, 95))
        assert figures.latency.p99 == pytest.approx(percentile(latencies, 99))


@pytest.mark.usefixtures("_calls_of_all_sorts")
def test_a_summary_adds_up():
    figures = queries.summary()
    assert_figures_of(figures, CALLS)
    assert figures.error_share == figures.errors / 600
    assert figures.oversized_share == figures.oversized_calls / 600
    assert figures.average_response_bytes == figures.bytes_sent / 600
    assert figures.average_tokens == figures.tokens_sent / 600
    assert figures.reduction == pytest.approx(1 - figures.tokens_sent / figures.tokens_baseline)
    assert figures.pagination_adoption == figures.paginated_list_calls / figures.list_calls


@pytest.mark.usefixtures("_calls_of_all_sorts")
@pytest.mark.parametrize(
    "filters",
    [
        {"operation": "list_bookings"},
        {"endpoint": "/api/v1/bookings", "outcome": "chunked"},
        {"transport": "websocket", "outcome": "paginated"},
        {"transport": "http", "operation": "get_booking", "outcome": "error"},
    ],
)
def test_filters_combine(filters):
    since, until = NOON - timedelta(hours=4), NOON - timedelta(hours=1)
    chosen = [
        call
        for call in CALLS
        if since <= call.at < until and all(getattr(call, name) == value for name, value in filters.items())
    ]
    assert_figures_of(queries.summary(since=since, until=until, **filters), chosen)


def test_no_calls_have_no_shares():
    figures = queries.summary()
    assert figures.calls == 0
    assert figures.tokens_sent == 0
    assert figures.oversized_share is None
    assert figures.pagination_adoption is None
    assert figures.average_response_bytes is None


def test_the_end_of_a_span_is_not_part_of_it():
    stored(a_call(at=NOON))
    assert queries.summary(since=NOON, until=LATER).calls == 1
    assert queries.summary(since=NOON - timedelta(hours=1), until=NOON).calls == 0


@pytest.mark.usefixtures("_calls_of_all_sorts")
def test_a_series_has_every_call_in_its_interval():
    series = queries.series(since=NOON - timedelta(hours=6), until=LATER)
    assert series.step == timedelta(minutes=10)
    for bucket in series.buckets:
        within = [call for call in CALLS if bucket.start <= call.at < bucket.start + series.step]
        assert_figures_of(bucket.figures, within)
    assert sum(bucket.figures.calls for bucket in series.buckets) == len(CALLS)


@pytest.mark.usefixtures("_calls_of_all_sorts")
@pytest.mark.parametrize("buckets", [2, 7, 100, 1000])
def test_a_series_adds_up_however_finely_it_is_cut(buckets):
    series = queries.series(until=LATER, buckets=buckets)
    assert sum(bucket.figures.calls for bucket in series.buckets) == len(CALLS)
    assert len(series.buckets) <= buckets + 2


def test_an_interval_without_calls_is_zero_and_has_no_share():
    stored(a_call(at=NOON - timedelta(minutes=50)))
    series = queries.series(since=NOON - timedelta(hours=1), until=NOON)
    quiet = series.buckets[-2].figures
    assert quiet.calls == 0
    assert quiet.oversized_share is None
    assert quiet.latency.p95 is None


@pytest.mark.usefixtures("_calls_of_all_sorts")
def test_operations_come_with_their_figures_the_busiest_first():
    by_operation = queries.by_operation()
    assert {each.operation for each in by_operation} == {"list_bookings", "get_booking", "read_document"}
    for each in by_operation:
        assert_figures_of(each.figures, [call for call in CALLS if call.operation == each.operation])
    counts = [each.figures.calls for each in by_operation]
    assert counts == sorted(counts, reverse=True)
    assert len(queries.by_operation(at_most=2)) == 2


def test_percentiles_need_twenty_calls():
    stored(*[a_call(latency_ms=n) for n in range(1, 20)])
    assert queries.summary().latency.p95 is None
    stored(a_call(latency_ms=20))
    assert queries.summary().latency == queries.Latency(p50=10, p95=19, p99=20)


def test_percentiles_of_very_many_calls_are_taken_from_a_part_of_them(monkeypatch):
    monkeypatch.setattr(queries, "SORT_AT_MOST", 500)
    stored(*[a_call(latency_ms=n) for n in range(1, 1001)])
    latency = queries.summary().latency
    assert latency.p50 == pytest.approx(500, abs=5)
    assert latency.p95 == pytest.approx(950, abs=5)


def test_health_tells_adoption_and_average_size():
    stored(
        *[a_call(outcome="paginated", pagination_used=True, response_bytes=1000)] * 3,
        a_call(response_bytes=5000),
        a_call(kind="record", item_count=1, response_bytes=3000),
        a_call(outcome="error", error_reason="invalid_cursor", response_bytes=200),
        a_call(at=NOON - timedelta(days=3), response_bytes=800),
    )
    health = queries.health(now=LATER)
    assert health.last_24_hours.pagination_adoption == 3 / 4
    assert health.last_24_hours.average_response_bytes == (3 * 1000 + 5000 + 3000 + 200) / 6
    assert health.ever.calls == 7
    assert health.ever.pagination_adoption == 3 / 5
    assert health.last_call_at == NOON


def test_health_before_the_first_call():
    health = queries.health()
    assert health.ever.calls == 0
    assert health.last_call_at is None
