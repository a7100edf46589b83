"""What a row says, and what is put right before it is stored."""

import logging
from datetime import UTC, datetime

import pytest

from telemetry import recorder
from telemetry.models import TelemetryRecord
from telemetry.storage import put_right
from tests.telemetry.examples import NOON, a_call, a_summary, stored

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
