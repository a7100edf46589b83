"""What a row says, and what is put right before it is stored."""

import logging
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from telemetry import log_stream, recorder
from telemetry.models import TelemetryRecord
from telemetry.storage import put_right, store
from tests.telemetry.examples import NOON, a_call, a_summary, stored
from tests.telemetry.test_log_stream import Target

pytestmark = pytest.mark.django_db


def test_a_record_carries_the_figures_of_its_call():
    stored(a_summary(response_bytes=9600, item_count=1, latency_ms=7.5))
    row = TelemetryRecord.objects.get()
    assert (row.estimated_tokens, row.response_bytes, row.item_count, row.latency_ms) == (2400, 9600, 1, 7.5)
    assert (row.pagination_used, row.summarization_used, row.chunking_used) == (False, True, False)
    assert (row.original_tokens, row.saved_tokens, row.oversized) == (6000, 3600, True)
    assert row.measurement.reduction == pytest.approx(0.6)
    assert row.created_at == NOON


def test_a_follow_up_costs_what_it_sends():
    stored(a_summary(), a_call(request_id="section", original_tokens=6000, estimated_tokens=800, baseline_tokens=0))
    first, follow_up = TelemetryRecord.objects.order_by("pk")
    assert (first.baseline_tokens, first.saved_tokens) == (6000, 3600)
    assert (follow_up.baseline_tokens, follow_up.saved_tokens) == (0, -800)
    assert follow_up.measurement.reduction == pytest.approx(1 - 800 / 6000)


def test_an_answer_larger_than_its_original_was_not_reduced():
    call = a_call(original_tokens=10, estimated_tokens=90)
    assert call.saved_tokens == -80
    assert call.reduction == 0
    assert a_call(original_tokens=0).reduction == 0


def test_a_sound_call_is_stored_as_it_is():
    call = a_call()
    assert put_right(call) is call


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"latency_ms": -1.0}, {"latency_ms": 0.0}),
        ({"latency_ms": float("nan")}, {"latency_ms": 0.0}),
        ({"response_bytes": -5}, {"response_bytes": 0}),
        ({"original_tokens": 2**40}, {"original_tokens": 2**31 - 1}),
        ({"operation": "x" * 500}, {"operation": "x" * 100}),
        ({"caller": "a\x00b"}, {"caller": "ab"}),
        ({"outcome": "splendid"}, {"outcome": "plain"}),
        ({"outcome": "", "error_reason": "timeout"}, {"outcome": "error"}),
        ({"at": datetime(2026, 11, 20)}, {"at": datetime(2026, 11, 20, tzinfo=UTC)}),
        ({"outcome": "chunked", "pagination_used": True, "chunking_used": True}, {"pagination_used": False}),
        ({"outcome": "paginated", "pagination_used": True, "chunking_used": True}, {"chunking_used": False}),
    ],
)
def test_odd_values_are_put_right_and_counted(wrong, right):
    recorder.record(a_call(**wrong))
    assert recorder.flush()
    row = TelemetryRecord.objects.get()
    assert {name: getattr(row, "created_at" if name == "at" else name) for name in right} == right
    assert recorder.state().corrected == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Postgres copies the rows")
@pytest.mark.parametrize("count", [0, 1, 101])
def test_many_calls_are_stored_by_one_statement(count: int):
    with CaptureQueriesContext(connection) as queries:
        stored(*(a_call(request_id=f"req-{number}", latency_ms=number) for number in range(count)))
    assert list(TelemetryRecord.objects.order_by("pk").values_list("request_id", "latency_ms")) == [
        (f"req-{number}", number) for number in range(count)
    ]
    written = [query for query in queries if TelemetryRecord._meta.db_table in query["sql"]]
    assert len(written) == 1


def test_calls_beside_one_that_cannot_be_stored_are_stored_once():
    calls = [a_call(item_count=number, caller="\ud800" if number == 40 else "ops-bot") for number in range(50)]
    result = store(calls)
    assert (result.stored, result.dropped, result.last_error) == (49, 1, "UnicodeEncodeError")
    assert TelemetryRecord.objects.count() == 49
    assert set(TelemetryRecord.objects.values_list("item_count", flat=True)) == {*range(50)} - {40}


def test_lines_of_a_batch_are_written_together(monkeypatch: pytest.MonkeyPatch):
    target = Target()
    monkeypatch.setattr(log_stream.stderr, "_target", target)
    stored(a_summary(), a_summary())
    (written,) = target.writes
    assert [line.count("oversized answer reduced") for line in written.splitlines()] == [1, 1]


def test_an_oversized_answer_leaves_a_line_in_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="telemetry"):
        stored(a_summary())
    (line,) = caplog.records
    assert line.levelname == "INFO"
    assert line.operation == "get_booking"
    assert (line.original_tokens, line.final_tokens, line.reduction_percent) == (6000, 2400, 60.0)


def test_every_decision_leaves_a_line_and_plain_answers_none(caplog):
    with caplog.at_level(logging.INFO, logger="telemetry"):
        stored(
            a_call(),
            a_call(outcome="paginated", pagination_used=True),
            a_call(outcome="chunked", chunking_used=True),
        )
    assert caplog.messages == ["answer paginated", "answer chunked"]


def test_a_call_without_a_kind_is_a_list_when_it_behaves_like_one():
    stored(
        a_call(request_id="many", kind="", item_count=12),
        a_call(request_id="paged", kind="", item_count=1, pagination_used=True, outcome="paginated"),
        a_call(request_id="one", kind="", item_count=1),
    )
    lists = TelemetryRecord.objects.filter(kind="list")
    assert set(lists.values_list("request_id", flat=True)) == {"many", "paged"}
