"""Figures, recomputed in plain Python from the same calls: before rollups are built, in between, and afterwards."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from telemetry import queries
from telemetry.call_figures import Latency
from telemetry.models import Rollup
from telemetry.queries import EVERYTHING, Selection, Span
from telemetry.rollups.builder import build_stale
from telemetry.rollups.marks import floor
from tests.telemetry.examples import NOON, a_call, calls_of_all_sorts, stored

pytestmark = pytest.mark.django_db

# In every tenth minute, so that rollups are built quickly.
CALLS = [call._replace(at=floor(call.at, 600) + (call.at - floor(call.at, 60))) for call in calls_of_all_sorts(600)]
SPAN = Span.of(NOON - timedelta(hours=6), NOON + timedelta(seconds=1))
BUILT = {
    "no rollups": None,
    "rollups of a part": NOON - timedelta(hours=2, minutes=20),
    "all rollups": NOON + timedelta(days=2),
}


@pytest.fixture(params=BUILT)
def _calls(request):
    stored(*CALLS[:500])
    if BUILT[request.param]:
        build_stale(now=BUILT[request.param])
        assert Rollup.objects.exists()
    stored(*CALLS[500:])  # also late ones, which no rollup has


def percentile(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def assert_figures_of(figures, calls):
    lists = [call for call in calls if call.kind == "list" and call.outcome != "error"]
    counted = [call for call in calls if call.claude_tokens]
    assert figures.calls == len(calls)
    for outcome in ("plain", "paginated", "summarized", "chunked"):
        assert getattr(figures, outcome) == sum(call.outcome == outcome for call in calls)
    failed = [call for call in calls if call.outcome == "error"]
    assert figures.errors == len(failed) == sum(figures.origins.values())
    for origin, number in figures.origins.items():
        assert number == sum(call.origin == origin for call in failed)
    claude, estimate = (sum(getattr(call, name) for call in counted) for name in ("claude_tokens", "estimated_tokens"))
    factor = claude / estimate if estimate else 1
    uncounted = sum(call.estimated_tokens for call in calls if not call.claude_tokens)
    assert figures.tokens_sent == int(claude + uncounted * factor)
    for name in ("original_tokens", "estimated_tokens", "baseline_tokens", "response_bytes", "attempts"):
        assert figures.total(name) == sum(getattr(call, name) for call in calls)
    assert figures.total("upstream_ms") == pytest.approx(sum(call.upstream_ms for call in calls))
    assert figures.tokens_baseline == int(sum(call.baseline_tokens for call in calls) * factor)
    assert figures.tokens_saved == figures.tokens_baseline - figures.tokens_sent
    assert figures.oversized_calls == sum(call.oversized for call in calls)
    assert figures.cached_calls == sum(call.is_cached for call in calls)
    assert figures.list_calls == len(lists)
    assert figures.paginated_list_calls == sum(call.pagination_used for call in lists)
    assert_latency(figures.latency, [call.latency_ms for call in calls])
    assert_latency(figures.upstream_latency, [call.upstream_ms for call in calls if call.upstream])


def assert_latency(latency, durations):
    if len(durations) < 20:
        assert latency == Latency()
    else:
        for percent in (50, 95, 99):
            exact = percentile(durations, percent)
            assert getattr(latency, f"p{percent}") == pytest.approx(exact, rel=0.0221)


SELECTIONS = [
    {},
    {"tool": ["list_bookings"]},
    {"tool": ["!list_bookings"], "outcome": ["error", "plain"]},
    {"tool": ["*booking*"], "origin": ["upstream"]},
    {"key": ["ops-bot"], "client": ["claude-*"]},
    {"transport": ["websocket", "http"], "outcome": ["paginated"]},
    {"tool": ["get_booking"], "key": ["desk"]},
    {"upstream": ["acme"], "status": ["503", "0"]},
    {"cache": ["yes"]},
    {"policy": ["r2"]},
    {"reason": ["upstream_timeout"]},
]


def chosen(values, calls=CALLS):
    """The selection in plain Python."""
    figure = {"tool": "operation", "key": "caller", "policy": "revision", "reason": "error_reason"}
    figure |= {"status": "upstream_status", "cache": "is_cached"}

    def fits(call, name, text):
        value = getattr(call, figure.get(name, name))
        value = {True: "yes", False: "no"}.get(value, value) if name == "cache" else str(value)
        if "*" in text:
            parts = text.strip("*").split("*")
            return value.startswith(text.split("*")[0]) and all(part in value for part in parts)
        return value == text

    def matches(call):
        for name, texts in values.items():
            wanted = [text for text in texts if not text.startswith("!")]
            unwanted = [text[1:] for text in texts if text.startswith("!")]
            if wanted and not any(fits(call, name, text) for text in wanted):
                return False
            if any(fits(call, name, text) for text in unwanted):
                return False
        return True

    return [call for call in calls if matches(call)]


@pytest.mark.usefixtures("_calls")
def test_totals_are_those_of_the_selected_calls(subtests):
    for values in SELECTIONS:
        with subtests.test(values=values):
            assert chosen(values)
            assert_figures_of(queries.totals(SPAN, Selection.of(values), wanted=EVERYTHING), chosen(values))


@pytest.mark.usefixtures("_calls")
def test_a_series_has_each_call_in_its_bucket(subtests):
    for minutes in (7, 59, 125, 360):
        for values in ({}, {"tool": ["get_booking"]}):
            with subtests.test(minutes=minutes, values=values):
                assert_each_call_in_its_bucket(minutes, values)


def assert_each_call_in_its_bucket(minutes, values):
    span = Span.of(NOON - timedelta(minutes=minutes, seconds=13), NOON - timedelta(seconds=5))
    shown = queries.series(span, Selection.of(values), split="outcome", wanted=EVERYTHING)
    within = [call for call in chosen(values) if span.since <= call.at < span.until]
    assert [bucket.start for bucket in shown.buckets] == sorted(bucket.start for bucket in shown.buckets)
    for bucket in shown.buckets:
        mine = [call for call in within if bucket.start <= call.at < bucket.start + span.step]
        assert_figures_of(bucket.figures, mine)
        for outcome in {call.outcome for call in mine}:
            assert_figures_of(bucket.parts[outcome], [call for call in mine if call.outcome == outcome])
    assert sum(bucket.figures.calls for bucket in shown.buckets) == len(within)
    assert set(shown.values) == {call.outcome for call in within}


@pytest.mark.usefixtures("_calls")
@pytest.mark.parametrize(
    "by", [("tool",), ("key", "client"), ("tool", "key"), ("upstream", "status"), ("policy", "tool")]
)
def test_groups_have_each_call_once(by):
    column = {"tool": "operation", "key": "caller", "policy": "revision", "status": "upstream_status"}
    found = queries.groups(SPAN, by=by, wanted=EVERYTHING)
    assert sum(group.figures.calls for group in found) == len(CALLS)
    assert [group.figures.calls for group in found] == sorted((group.figures.calls for group in found), reverse=True)
    for group in found:
        names = [column.get(name, name) for name in by]
        mine = [call for call in CALLS if tuple(getattr(call, name) for name in names) == group.values]
        assert_figures_of(group.figures, mine)


def test_a_span_without_calls_has_zeros():
    figures = queries.totals(SPAN)
    assert (figures.calls, figures.tokens_sent, figures.error_share, figures.latency) == (0, 0, None, Latency())
    shown = queries.series(SPAN)
    assert {bucket.figures.calls for bucket in shown.buckets} == {0}
    assert queries.groups(SPAN, by=("tool",)) == ()


def test_no_percentile_under_twenty_calls():
    stored(*[a_call(at=NOON - timedelta(minutes=1))] * 19)
    assert queries.totals(SPAN).latency == Latency()
    stored(a_call(at=NOON - timedelta(minutes=1)))
    assert queries.totals(SPAN).latency.p95 == pytest.approx(12.5, rel=0.0221)


def test_calls_that_staff_repeat_count_only_where_they_are_asked_for():
    stored(a_call(at=NOON - timedelta(hours=3), transport="replay"), a_call(at=NOON - timedelta(hours=3)))
    for _ in range(2):
        assert queries.totals(SPAN).calls == 1
        assert queries.totals(SPAN, Selection.of({"transport": ["replay"]})).calls == 1
        assert queries.totals(SPAN, Selection.of({"transport": ["!rest"]})).calls == 0
        build_stale(now=NOON + timedelta(days=2))


@pytest.mark.parametrize("values", [{"tool": ["list_bookings"]}, {"key": ["desk"]}, {}])
def test_days_of_calls_are_read_from_rollups_alone(values, django_assert_max_num_queries):
    """A panel costs the same, however many calls there are."""
    for day in range(25):
        stored(*[a_call(at=NOON - timedelta(days=day), caller="desk")] * 2)
    build_stale(now=NOON + timedelta(days=2))
    midnight = datetime(2026, 11, 21, tzinfo=UTC)
    span = Span.of(midnight - timedelta(days=25), midnight)
    with django_assert_max_num_queries(6) as seen:
        assert queries.totals(span, Selection.of(values)).calls == 50
    assert not [query for query in seen.captured_queries if "telemetry_telemetryrecord" in query["sql"]]


def test_a_call_at_the_very_end_of_an_interval_is_in_that_interval():
    stored(a_call(at=NOON - timedelta(microseconds=1)), a_call(at=NOON))
    for until, counts in ((NOON, [0, 1]), (NOON + timedelta(minutes=1), [0, 1, 1])):
        for selection in (Selection(), Selection(min_ms=1)):  # the second one is read from the calls
            series = queries.series(Span(NOON - timedelta(minutes=2), until, timedelta(minutes=1)), selection)
            assert [bucket.figures.calls for bucket in series.buckets] == counts
