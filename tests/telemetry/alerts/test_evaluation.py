"""Rounds of checks over stored calls: what fires, once, and recovers (O4, US5-4)."""

import logging
import threading
from datetime import datetime, timedelta

import pytest
from django.core import mail
from django.db import connection

from telemetry import queries, tasks
from telemetry.alerts import evaluation, links, notifications, readings
from telemetry.alerts.conditions import condition_of
from telemetry.alerts.look_back import look_back
from telemetry.locks import only_one
from telemetry.models import Event
from telemetry.models.alerts import Alert, AlertRule, Notification
from telemetry.queries import Selection, Span
from tests.telemetry.alerts.examples import check, only, states, traffic
from tests.telemetry.examples import NOON, a_call, a_summary, stored

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.ALERT_EMAILS = ["ops@example.com"]
    settings.OVERSIZED_ALERT_SHARE = 0.05
    settings.OVERSIZED_ALERT_RECOVERY = 0.8
    settings.OVERSIZED_ALERT_WINDOW_MINUTES = 15
    settings.OVERSIZED_ALERT_MIN_CALLS = 20


def deliver_all():
    for pk in Notification.objects.filter(state="queued").values_list("pk", flat=True):
        notifications.deliver(pk, now=NOON + timedelta(days=1))


# -- The shipped rules ------------------------------------------------------------------------------


def test_six_rules_are_on_from_the_start_and_the_others_wait():
    on = AlertRule.objects.filter(is_enabled=True).values_list("shipped_as", flat=True)
    assert set(on) == {
        "oversized_share",
        "error_rate",
        "upstream_down",
        "lost_records",
        "token_drift",
        "rollout_rolled_back",
    }
    assert AlertRule.objects.filter(is_enabled=False).count() == 4


def test_a_hundred_mixed_calls_with_six_oversized_raise_one_alert_that_names_the_tools_and_recovers(caplog):
    caplog.set_level(logging.INFO, logger="telemetry")
    only("oversized_share", follows_settings=True)
    stored(
        *[a_call(at=NOON, operation="list_bookings")] * 60,
        *[a_call(at=NOON, operation="read_document")] * 34,
        *[a_summary(at=NOON, operation="get_booking")] * 4,
        *[a_summary(at=NOON, operation="get_listing")] * 2,
    )
    for seconds in (30, 60, 90, 120):
        check(seconds)

    alert = Alert.objects.get()
    assert (alert.state, alert.value, alert.limit, alert.sample, alert.affected) == ("alerting", 0.06, 0.05, 100, 6)
    assert alert.fired_at == NOON + timedelta(seconds=30)
    assert "6% of answers were over budget (limit 5%): get_booking 4, get_listing 2 of 100 calls" in alert.message
    assert alert.details["calls"] == {"oversized": ["yes"]}
    assert [line.levelname for line in caplog.records if "alert raised" in line.message] == ["WARNING"]
    deliver_all()
    assert [message.to for message in mail.outbox] == [["ops@example.com"]]

    traffic(300, calls=200)
    for seconds in range(330, 450, 30):
        check(seconds)
    alert = Alert.objects.get()
    assert (alert.state, alert.ended_at) == ("normal", NOON + timedelta(seconds=390))
    assert states() == ["alerting", "recovering", "normal"]
    deliver_all()
    assert [message.subject for message in mail.outbox] == [
        "[Sluice] ▲ Too many oversized answers is firing",
        "[Sluice] ● Too many oversized answers has recovered",
    ]
    assert [event.summary for event in Event.objects.filter(kind="A").order_by("pk")] == [
        "Too many oversized answers fires",
        "Too many oversized answers recovered",
    ]
    assert {links.of_event(event) for event in Event.objects.filter(kind="A")} == {f"/telemetry/alerts/{alert.pk}/"}


@pytest.mark.parametrize(
    ("calls", "oversized", "fires"), [(100, 5, False), (100, 6, True), (19, 19, False), (20, 2, True)]
)
def test_the_line_itself_does_not_fire_nor_does_a_small_sample(calls, oversized, fires):
    only("oversized_share")
    traffic(0, calls=calls, oversized=oversized)
    check(30)
    assert Alert.objects.exists() is fires


def test_the_shipped_rule_follows_the_settings_until_somebody_saves_it(settings):
    settings.OVERSIZED_ALERT_SHARE = 0.5
    rule = only("oversized_share", follows_settings=True)
    traffic(0, calls=100, oversized=40)
    check(30)
    assert not Alert.objects.exists()
    rule.follows_settings = False
    rule.save()
    check(60)
    assert Alert.objects.get().limit == 0.05


def test_without_calls_the_oversized_alert_recovers():
    only("oversized_share")
    traffic(0, calls=100, oversized=50)
    check(30)
    check(1000)
    check(1060)
    alert = Alert.objects.get()
    assert (alert.state, alert.message) == ("normal", "No calls to check for 15 minutes.")


def test_a_tool_with_a_limit_of_its_own_is_checked_alone():
    only("oversized_share", limits_by_tool={"get_booking": 0.5})
    traffic(0, calls=100)
    traffic(0, calls=40, oversized=10)  # all of get_booking's 10 are oversized
    stored(*[a_call(at=NOON, operation="get_booking")] * 30)
    check(30)
    assert not Alert.objects.exists(), "a quarter of get_booking's answers is below its own limit of half"
    stored(*[a_summary(at=NOON, operation="get_booking")] * 60)
    check(60)
    assert [alert.subject for alert in Alert.objects.all()] == ["get_booking"]


def test_a_tool_with_a_limit_of_its_own_is_checked_as_a_tool_by_a_rule_per_upstream():
    rule = only("oversized_share", per="upstream", limits_by_tool={"get_booking": 0.5})
    traffic(0, calls=100, oversized=60, upstream="acme")
    check(30)
    alert = Alert.objects.get()
    assert (alert.subject, alert.limit, alert.affected) == ("get_booking", 0.5, 60)
    assert alert.tools == [("get_booking", 60, 60)]
    assert alert.details["calls"] == {"tool": ["get_booking"], "oversized": ["yes"]}
    assert Event.objects.get(kind="A").subject_type == "tool"
    past = look_back(condition_of(rule), NOON + timedelta(hours=1))
    assert [firing.subject for firing in past.firings] == ["get_booking"]


# -- Other kinds ------------------------------------------------------------------------------------


def test_an_error_rate_is_pending_before_it_fires_and_names_the_tool():
    only("error_rate")
    traffic(0, calls=100, failed=10)
    traffic(0, calls=100, operation="get_listing")
    for seconds in (1, 31, 61):
        check(seconds)
    assert states("list_bookings") == ["pending", "alerting"]
    alert = Alert.objects.get()
    assert alert.message == "10 of 100 calls failed in 5 minutes (10%); the limit is 5%."
    assert alert.tools == [("list_bookings", 10, 100)]


def test_an_error_rate_of_all_tools_together_names_them():
    only("error_rate", pending_seconds=0, per="all")
    traffic(0, calls=100, failed=10)
    traffic(0, calls=100, failed=2, operation="get_listing")
    check(1)
    assert Alert.objects.get().message == (
        "12 of 200 calls failed in 5 minutes (6%); the limit is 5%. Failed: list_bookings 10, get_listing 2."
    )


def test_errors_of_callers_do_not_count_by_default():
    only("error_rate")
    traffic(0, calls=100, failed=50, origin="caller", outcome="error")
    for seconds in (1, 31, 61):
        check(seconds)
    assert not Alert.objects.exists()


def test_a_flapping_value_calls_somebody_once():
    only("error_rate", pending_seconds=0)
    for n in range(20):  # each is alone in its window
        traffic(n * 600, calls=100, failed=6)
        check(n * 600 + 1)
        traffic(n * 600 + 301, calls=100, failed=1)
        check(n * 600 + 302)
    assert Alert.objects.count() == 1
    assert Notification.objects.count() == 1


def test_a_second_episode_is_a_second_alert():
    only("error_rate", pending_seconds=0, recovery_seconds=0)
    for start in (0, 3600):
        traffic(start, calls=100, failed=50)
        check(start + 1)
        traffic(start + 400, calls=100)
        check(start + 401)
    assert [alert.state for alert in Alert.objects.all()] == ["normal", "normal"]


def test_no_data_is_not_ok():
    only("error_rate", pending_seconds=0)
    traffic(0, calls=100, failed=50)
    check(1)
    check(700)
    alert = Alert.objects.get()
    assert (alert.state, alert.ended_at) == ("no_data", None)
    assert alert.message == "No calls to check. That is not the same as OK."
    assert alert in Alert.objects.open()
    traffic(800, calls=100)
    for seconds in (801, 1000):
        check(seconds)
    assert states("list_bookings") == ["alerting", "no_data", "recovering", "normal"]


def test_a_tool_that_is_not_called_for_a_day_is_forgotten():
    only("error_rate", pending_seconds=0)
    traffic(0, calls=100, failed=50)
    for seconds in (1, 700, 700 + 86_401):
        check(seconds)
    assert Alert.objects.get().message == "Nothing was seen of it for a day."
    assert Notification.objects.count() == 1, "nobody is told that it has recovered"


def test_slow_calls_fire_from_twenty_calls_on():
    only("slow", pending_seconds=0, limit=1000)
    traffic(0, calls=19, latency_ms=5000)
    check(1)
    assert not Alert.objects.exists(), "too few for a percentile, which is neither slow nor no data"
    traffic(0, calls=1, latency_ms=5000)
    check(31)
    assert Alert.objects.get().value == pytest.approx(5000, rel=0.022)


def test_cursors_that_fail_are_counted():
    only("paging_failures")
    failure = {"outcome": "error", "origin": "caller", "error_reason": "cursor_expired"}
    traffic(0, calls=10, **failure)
    traffic(0, calls=50, outcome="error", origin="caller", error_reason="not_found")
    check(30)
    assert not Alert.objects.exists()
    traffic(0, calls=1, **failure)
    check(60)
    assert Alert.objects.get().message == (
        "11 calls in 15 minutes came with an expired or invalid cursor: list_bookings 11."
    )


def test_a_tool_whose_cursors_no_longer_fail_has_recovered_although_it_has_nothing_to_count():
    only("paging_failures", per="tool", limit=2, recovery_limit=1, recovery_seconds=0)
    traffic(0, calls=5, outcome="error", origin="caller", error_reason="cursor_expired")
    check(30)
    traffic(1000, calls=50)
    check(1001)
    assert states("list_bookings") == ["alerting", "normal"]
    (event,) = Event.objects.filter(kind="A", summary__endswith="recovered")
    assert event.reason == "Nothing to check any more. This rule counts that as recovered."


@pytest.mark.parametrize("kind", ["oversized_share", "error_rate", "upstream_down"])
def test_the_link_to_the_calls_selects_as_many_as_the_alert_counted(kind):
    only(kind, pending_seconds=0)
    traffic(0, calls=100, oversized=20, upstream="acme")
    traffic(0, calls=200, failed=160, upstream="acme")
    traffic(-3000, calls=100, failed=50, oversized=50, upstream="acme")  # before the window
    check(30)
    alert = Alert.objects.get(affected__gt=0)
    chosen: dict[str, list[str]] = {}
    for name, value in links.calls_query(alert, alert.checked_at):
        chosen.setdefault(name, []).append(value)
    since, until = (datetime.fromisoformat(chosen.pop(name)[0]) for name in ("from", "to"))
    assert queries.totals(Span.of(since, until), Selection.of(chosen)).calls == alert.affected


# -- Errors, locks, switches ------------------------------------------------------------------------


def test_a_rule_that_cannot_be_checked_says_so_and_stops_no_other(monkeypatch):
    AlertRule.objects.update(is_enabled=False)
    AlertRule.objects.filter(shipped_as__in=("error_rate", "oversized_share")).update(is_enabled=True)
    traffic(0, calls=100, oversized=50)
    broken = {**readings.READERS, readings.RuleKind.ERROR_RATE: _broken}
    monkeypatch.setattr(readings, "READERS", broken)
    check(30)
    alert = Alert.objects.get(rule__kind="error_rate")
    assert (alert.state, alert.message) == (
        "error",
        "The rule could not be checked (ZeroDivisionError). It is tried again in 15 seconds.",
    )
    assert Alert.objects.get(rule__kind="oversized_share").state == "alerting"
    monkeypatch.undo()
    check(60)
    assert Alert.objects.get(rule__kind="error_rate").state == "normal"


def _broken(condition, now):
    return 1 / 0


def test_of_two_rounds_at_once_one_checks():
    only("oversized_share")
    traffic(0, calls=100, oversized=6)
    with only_one("alerts") as is_ours:
        assert is_ours
        if connection.vendor == "sqlite":  # Postgres lets one session have its lock twice
            assert not evaluation.check_alerts(now=NOON)
    check(30)
    assert Alert.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_beat_twice_at_once_makes_one_alert_and_one_message():
    only("oversized_share")
    traffic(0, calls=100, oversized=6)
    start, done = threading.Barrier(2), []

    def round_of_checks():
        start.wait()
        done.append(evaluation.check_alerts(now=NOON + timedelta(seconds=30)))
        connection.close()

    threads = [threading.Thread(target=round_of_checks) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any(done)
    assert (Alert.objects.count(), Notification.objects.count()) == (1, 1)


def test_switching_a_rule_off_ends_its_alerts_and_tells_nobody():
    rule = only("oversized_share")
    traffic(0, calls=100, oversized=6)
    check(30)
    AlertRule.objects.filter(pk=rule.pk).update(is_enabled=False)
    check(60)
    alert = Alert.objects.get()
    assert (alert.state, alert.message) == ("normal", "The rule was switched off.")
    assert Notification.objects.count() == 1
    assert [event.summary for event in Event.objects.filter(kind="A").order_by("pk")] == [
        "Too many oversized answers fires",
        "Too many oversized answers ended",
    ]


def test_the_highest_value_is_remembered():
    only("oversized_share")
    traffic(0, calls=100, oversized=6)
    check(30)
    traffic(60, calls=100, oversized=30)
    check(90)
    traffic(120, calls=800)
    check(150)
    assert Alert.objects.get().peak == pytest.approx(36 / 200)


def test_the_task_is_known_by_the_name_in_the_schedule(settings):
    assert tasks.check_alerts.name == "telemetry.tasks.check_alerts"
    assert settings.CELERY_BEAT_SCHEDULE["check-alerts"]["schedule"] == 15
    tasks.check_alerts()
    assert AlertRule.objects.filter(is_enabled=True, checked_at=None).count() == 0
