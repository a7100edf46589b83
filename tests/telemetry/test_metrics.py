"""What Prometheus reads."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import OperationalError
from prometheus_client.parser import text_string_to_metric_families

from telemetry import alert_metrics, audits, counters, recorder
from telemetry.alert_states import AlertState
from telemetry.audits import Audit
from telemetry.metrics import metrics_text
from telemetry.models.alerts import Alert, AlertRule
from tests.telemetry.examples import NOON, a_call, a_summary

pytestmark = pytest.mark.django_db


def samples():
    body, content_type = metrics_text()
    assert content_type.startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def growth(*calls):
    """What recording `calls` adds to each sample."""
    before = samples()
    for call in calls:
        recorder.record(call)
    recorder.flush()
    return {key: value - before.get(key, 0) for key, value in samples().items()}


def key(name, **labels):
    return name, tuple(sorted(labels.items()))


def test_calls_are_counted_by_operation_outcome_and_transport():
    grown = growth(a_call(), a_call(), a_summary(transport="websocket"))
    assert grown[key("sluice_calls_total", operation="list_bookings", outcome="plain", transport="rest")] == 2
    labels = {"operation": "get_booking", "outcome": "summarized", "transport": "websocket"}
    assert grown[key("sluice_calls_total", **labels)] == 1
    assert grown[key("sluice_oversized_calls_total", operation="get_booking")] == 1


def test_tokens_are_counted_raw_baseline_and_sent_and_savings_are_net_of_follow_ups():
    grown = growth(a_summary(), a_summary(estimated_tokens=900, baseline_tokens=0))
    for kind, tokens in (("raw", 12000), ("baseline", 6000), ("sent", 3300)):
        assert grown[key("sluice_result_tokens_total", operation="get_booking", kind=kind)] == tokens
    assert grown[key("sluice_net_saved_tokens", operation="get_booking")] == 2700


def test_latency_is_a_histogram_in_seconds():
    grown = growth(a_call(latency_ms=30), a_call(latency_ms=3000))
    name = "sluice_call_duration_seconds"
    assert grown[key(f"{name}_count", operation="list_bookings")] == 2
    assert grown[key(f"{name}_bucket", operation="list_bookings", le="0.05")] == 1
    assert grown[key(f"{name}_sum", operation="list_bookings")] == pytest.approx(3.03)


def test_an_odd_figure_does_not_spoil_a_sum():
    grown = growth(a_call(latency_ms=float("nan")), a_call(latency_ms=40, original_tokens=-5))
    assert grown[key("sluice_call_duration_seconds_sum", operation="list_bookings")] == pytest.approx(0.04)


def test_audits_are_counted_by_how_close_both_counts_were():
    before = samples()
    audit = Audit(NOON, "list_bookings", "json", 3200, 960, 1000, 1000, "ctok")
    for formula_tokens, claude_tokens in ((1200, 1100), (1201, 1000), (960, 1101)):
        audits.store(replace(audit, formula_tokens=formula_tokens, claude_tokens=claude_tokens))
    grown = {name: value - before.get(name, 0) for name, value in samples().items()}

    def counted(claude: str, estimate: str) -> float:
        labels = {"claude_within_10_percent": claude, "estimate_within_20_percent": estimate}
        return grown[key("sluice_token_audits_total", **labels)]

    assert (counted("yes", "yes"), counted("yes", "no"), counted("no", "yes")) == (1, 1, 1)


def test_claudes_count_is_added_up():
    grown = growth(a_call(claude_tokens=1000), a_call(claude_tokens=0))
    assert grown[key("sluice_claude_tokens_total", operation="list_bookings")] == 1000


def test_the_recorder_reports_on_itself():
    recorder.record(a_call())
    assert samples()[key("sluice_telemetry_queued")] == 1
    recorder.flush()
    assert samples()[key("sluice_telemetry_queued")] == 0
    assert samples()[key("sluice_telemetry_stored_total")] == 1
    assert samples()[key("sluice_telemetry_dropped_total")] == 0


def test_the_number_of_series_is_bounded(monkeypatch):
    monkeypatch.setattr(counters, "operations", counters.BoundedLabels(1))
    monkeypatch.setattr(counters, "transports", counters.BoundedLabels(1))
    monkeypatch.setattr(counters, "clients", counters.BoundedLabels(1))
    growth(a_call(client="desk"))
    grown = growth(a_call(operation="one too many", transport="hatch", client="one too many"))
    assert grown[key("sluice_client_calls_total", client="_other")] == 1
    labels = {"operation": "_other", "outcome": "plain", "transport": "_other"}
    assert grown[key("sluice_calls_total", **labels)] == 1
    assert not any("one too many" in str(each) for each in grown)


def test_failed_calls_are_counted_by_their_reason():
    grown = growth(a_call(outcome="error", error_reason="not_found", origin="caller"), a_call())
    labels = {"operation": "list_bookings", "reason": "not_found", "origin": "caller"}
    assert grown[key("sluice_failed_calls_total", **labels)] == 1
    failed = [name for name in grown if name[0] == "sluice_failed_calls_total" and grown[name]]
    assert len(failed) == 1


def test_counters_have_no_second_series_with_the_time_of_their_creation():
    growth(a_call())
    assert not [name for name, _ in samples() if name.endswith("_created")]


def test_alerts_are_counted_by_rule_and_state_and_a_quiet_rule_is_zero():
    rule = AlertRule.objects.filter(is_enabled=True).first()
    assert rule is not None
    assert samples()[key("sluice_alerts", alert=rule.name, state="alerting")] == 0
    now = datetime.now(UTC)
    Alert.objects.create(rule=rule, state=AlertState.ALERTING, since=now, started_at=now, fired_at=now, checked_at=now)
    assert samples()[key("sluice_alerts", alert=rule.name, state="alerting")] == 1


def test_other_metrics_stay_while_alerts_cannot_be_read(monkeypatch):
    def away():
        raise OperationalError

    monkeypatch.setattr(alert_metrics, "_counts", away)
    found = samples()
    assert key("sluice_telemetry_queued") in found
    assert not any(name == "sluice_alerts" for name, _ in found)
