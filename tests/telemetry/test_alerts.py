"""More than 5 % oversized calls: one alert, one mail, and an end (US5-4, O4)."""

import logging
from datetime import timedelta

import pytest
from django.core import mail

from telemetry import alerts, tasks
from telemetry.alerts import Rule, Verdict, WindowCounts, judge
from telemetry.models import Alert
from tests.telemetry.examples import NOON, a_call, a_summary, stored

RULE = Rule(share=0.05, recovery=0.8, window=timedelta(minutes=15), min_calls=20)


@pytest.fixture(autouse=True)
def _rule(settings):
    settings.OVERSIZED_ALERT_SHARE = 0.05
    settings.OVERSIZED_ALERT_WINDOW_MINUTES = 15
    settings.OVERSIZED_ALERT_MIN_CALLS = 20
    settings.ALERT_EMAILS = ["ops@example.com"]


def traffic(minute, *, calls, oversized):
    """`calls` calls, some of them oversized, in the given minute after noon."""
    at = NOON + timedelta(minutes=minute)
    stored(*[a_call(at=at)] * (calls - oversized), *[a_summary(at=at)] * oversized)


def check(minute):
    return alerts.check(now=NOON + timedelta(minutes=minute))


@pytest.mark.parametrize(
    ("calls", "oversized", "alert_is_open", "verdict"),
    [
        (100, 5, False, Verdict.QUIET),  # on the line is not above it
        (100, 6, False, Verdict.RAISE),
        (19, 19, False, Verdict.QUIET),  # too few to mean anything
        (20, 2, False, Verdict.RAISE),
        (0, 0, False, Verdict.QUIET),
        (100, 6, True, Verdict.KEEP),
        (1000, 41, True, Verdict.KEEP),  # under the line, not yet recovered
        (100, 4, True, Verdict.CLEAR),
        (5, 5, True, Verdict.KEEP),
        (0, 0, True, Verdict.CLEAR),
    ],
)
def test_the_rule(calls, oversized, alert_is_open, verdict):
    assert judge(WindowCounts(calls, oversized), RULE, alert_is_open=alert_is_open) is verdict


@pytest.mark.django_db
def test_an_alert_is_raised_once_and_cleared(caplog):
    caplog.set_level(logging.INFO, logger="telemetry")
    traffic(0, calls=100, oversized=6)

    assert check(1) is Verdict.RAISE
    assert check(2) is Verdict.KEEP
    assert check(3) is Verdict.KEEP

    alert = Alert.objects.get()
    assert alert.state == Alert.State.OPEN
    assert (alert.calls, alert.oversized_calls, alert.share) == (100, 6, pytest.approx(0.06))
    assert alert.last_checked_at == NOON + timedelta(minutes=3)
    lines = [line for line in caplog.records if line.name == "telemetry.alerts"]
    assert [(line.levelname, line.oversized_calls) for line in lines] == [("WARNING", 6)]
    assert [message.to for message in mail.outbox] == [["ops@example.com"]]
    assert "6 of 100" in mail.outbox[0].body
    assert "by the formula estimate or, where the budget's ruler says so, by Claude's count" in mail.outbox[0].body

    traffic(5, calls=200, oversized=0)
    assert check(6) is Verdict.CLEAR
    assert check(7) is Verdict.QUIET
    alert.refresh_from_db()
    assert alert.state == Alert.State.CLEARED
    assert alert.cleared_at == NOON + timedelta(minutes=6)
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_the_highest_share_is_remembered():
    traffic(0, calls=100, oversized=6)
    check(1)
    traffic(2, calls=100, oversized=30)
    check(3)
    traffic(4, calls=100, oversized=0)
    check(5)
    assert Alert.objects.get().peak_share == pytest.approx(36 / 200)


@pytest.mark.django_db
def test_a_share_that_swings_about_the_line_raises_one_alert():
    for minute in range(0, 200, 20):  # each swing is alone in its window
        traffic(minute, calls=1000, oversized=55)
        check(minute + 1)
        traffic(minute + 15, calls=1000, oversized=45)
        check(minute + 16)
    assert Alert.objects.count() == 1
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_silence_clears_an_alert_and_says_so():
    traffic(0, calls=100, oversized=50)
    check(1)
    assert check(60) is Verdict.CLEAR
    assert Alert.objects.get().message == "Cleared: no calls in the last 15 minutes."


@pytest.mark.django_db
def test_a_second_episode_is_a_second_alert():
    traffic(0, calls=100, oversized=50)
    check(1)
    check(60)
    traffic(61, calls=100, oversized=50)
    assert check(62) is Verdict.RAISE
    assert Alert.objects.count() == 2


@pytest.mark.django_db
def test_of_two_checkers_at_once_one_raises():
    seen = alerts.sighting(WindowCounts(calls=100, oversized=6), RULE)
    assert alerts.raise_once(Alert.AlertKind.OVERSIZED_SHARE, seen, NOON)
    assert not alerts.raise_once(Alert.AlertKind.OVERSIZED_SHARE, seen, NOON)
    assert Alert.objects.count() == 1
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_an_alert_stands_when_its_mail_cannot_be_sent(settings, caplog):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # nobody listens
    traffic(0, calls=100, oversized=6)
    assert check(1) is Verdict.RAISE
    assert Alert.objects.get().state == Alert.State.OPEN
    assert "could not be sent" in caplog.text


@pytest.mark.django_db
def test_nobody_is_mailed_when_nobody_is_named(settings):
    settings.ALERT_EMAILS = []
    traffic(0, calls=100, oversized=6)
    assert check(1) is Verdict.RAISE
    assert mail.outbox == []


@pytest.mark.django_db
def test_the_recovery_is_configurable(settings):
    settings.OVERSIZED_ALERT_RECOVERY = 1.0
    traffic(0, calls=100, oversized=6)
    check(1)
    traffic(2, calls=20, oversized=0)
    assert check(3) is Verdict.CLEAR


@pytest.mark.django_db
def test_the_task_is_known_by_the_name_in_the_schedule():
    assert tasks.check_alerts.name == "telemetry.tasks.check_alerts"
    tasks.check_alerts()
    assert not Alert.objects.exists()
