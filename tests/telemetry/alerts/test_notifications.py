"""Who is told: by email, by signed webhook, in Slack's format; once, with retries, never from the evaluation itself."""

import hashlib
import hmac
import json
from datetime import datetime, timedelta

import pytest
from django.core import mail

from telemetry.alerts import actions, channels, notifications, trial
from telemetry.models.alerts import Alert, AlertRule, Channel, Notification
from tests.simulators.webhook_receiver import webhook_receiver
from tests.telemetry.alerts.examples import a_channel, an_alert, check, only, traffic
from tests.telemetry.examples import NOON

pytestmark = pytest.mark.django_db
SECRET = "a-key-that-only-both-sides-know"


@pytest.fixture(autouse=True)
def _loopback(settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = ("127.0.0.1/32",)
    settings.PUBLIC_URL = "https://sluice.example.com"


def a_webhook(url: str, **fields) -> Channel:
    return a_channel("webhook", address=url, sealed_secret=channels.sealed(SECRET), **fields)


def fired(*told: Channel) -> Alert:
    """The oversized alert, with these channels."""
    only("oversized_share").channels.set(told)
    traffic(0, calls=100, oversized=6)
    check(30)
    return Alert.objects.get()


def deliver(seconds: float = 30) -> list[Notification]:
    """An attempt at each notification that is due, so many seconds after noon."""
    for pk in Notification.objects.values_list("pk", flat=True):
        notifications.deliver(pk, now=NOON + timedelta(seconds=seconds))
    return list(Notification.objects.order_by("pk"))


def test_the_evaluation_itself_sends_nothing():
    with webhook_receiver() as receiver:
        fired(a_webhook(receiver.url), a_channel())
        assert receiver.received == []
        assert mail.outbox == []
        assert [sent.state for sent in deliver()] == ["sent", "sent"]
        assert len(receiver.received) == len(mail.outbox) == 1


def test_an_email_says_what_where_and_links_to_the_alert(settings):
    alert = fired(a_channel(address="ops@example.com, night@example.com"))
    deliver()
    (message,) = mail.outbox
    assert message.to == ["ops@example.com", "night@example.com"]
    assert message.subject == "[Sluice] ▲ Too many oversized answers is firing"
    assert "6% of answers were over budget (limit 5%): get_booking 6 of 100 calls" in message.body
    assert alert.message in message.body
    assert f"https://sluice.example.com/telemetry/alerts/{alert.pk}/" in message.body
    assert "https://sluice.example.com/telemetry/alerts/runbooks/#oversized_share" in message.body


def test_a_webhook_is_signed_with_its_time():
    with webhook_receiver() as receiver:
        alert = fired(a_webhook(receiver.url))
        deliver()
        (got,) = receiver.received
    timestamp, signed = got.headers["x-sluice-signature"].split(",")
    expected = hmac.new(SECRET.encode(), timestamp.removeprefix("t=").encode() + b"." + got.body, hashlib.sha256)
    assert signed == f"v1={expected.hexdigest()}"
    document = json.loads(got.body)
    assert (document["event"], document["alert"]["id"], document["alert"]["unit"]) == ("firing", alert.pk, "share")
    assert document["alert"]["tools"] == [{"name": "get_booking", "affected": 6, "calls": 6}]
    assert document["message"] == alert.message


def test_slack_gets_its_own_format_with_escaped_signs():
    with webhook_receiver() as receiver:
        channel = a_channel("slack", sealed_secret=channels.sealed(receiver.url))
        rule = only("oversized_share", name="Too <many> & large")
        rule.channels.set([channel])
        traffic(0, calls=100, oversized=6)
        check(30)
        deliver()
        (got,) = receiver.received
    assert json.loads(got.body)["text"].startswith("*▲ Too &lt;many&gt; &amp; large is firing*\n6% of answers")
    assert "x-sluice-signature" not in got.headers


def test_what_fails_is_tried_again_later_and_later_with_the_same_delivery_id():
    with webhook_receiver(500, 503) as receiver:
        fired(a_webhook(receiver.url))
        (first,) = deliver(30)
        assert (first.state, first.attempts, first.result) == ("queued", 1, "answered 500")
        deliver(34)
        assert len(receiver.received) == 1, "the pause is not over"
        (second,) = deliver(35)
        assert second.due_at - (NOON + timedelta(seconds=35)) == timedelta(seconds=15)
        (third,) = deliver(50)
        assert (third.state, third.attempts, third.result) == ("sent", 3, "answered 204")
        assert len({got.headers["x-sluice-delivery"] for got in receiver.received}) == 1


def test_the_value_in_a_webhook_that_is_sent_late_is_that_of_its_sentence():
    with webhook_receiver(500) as receiver:
        fired(a_webhook(receiver.url))
        deliver(30)
        traffic(31, calls=100, oversized=94)
        check(32)
        deliver(35)
        document = json.loads(receiver.received[-1].body)
    assert document["message"].startswith("6% of answers were over budget (limit 5%)")
    assert (document["alert"]["value"], document["alert"]["limit"]) == (0.06, 0.05)


def test_after_the_last_attempt_it_has_failed(caplog):
    with webhook_receiver(*[500] * 20) as receiver:
        fired(a_webhook(receiver.url))
        seconds = 30.0
        for pause in (0, *notifications.PAUSES):
            seconds += pause
            (sent,) = deliver(seconds)
        assert (sent.state, sent.attempts) == ("failed", 1 + len(notifications.PAUSES))
        assert "notification not delivered" in caplog.text
        deliver(seconds + 100_000)
        assert len(receiver.received) == 1 + len(notifications.PAUSES)


def test_a_task_that_is_lost_or_runs_twice_does_no_harm():
    with webhook_receiver() as receiver:
        fired(a_webhook(receiver.url))
        deliver()
        deliver()
        assert len(receiver.received) == 1
        sent = Notification.objects.get()
    Notification.objects.update(state="queued", due_at=NOON)
    assert notifications.start_due(NOON + timedelta(seconds=30)) == 1
    assert sent.attempts == 1


def test_one_notification_per_transition_and_channel():
    channel = a_channel()
    alert = fired(channel)
    check(60)
    check(90)
    Alert.objects.update(told_at=None)  # as if two rounds had seen the firing at once
    check(120)
    assert Notification.objects.filter(transition__alert=alert, channel=channel).count() == 1


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_no_delivery(status):
    with webhook_receiver(status) as receiver:
        fired(a_webhook(receiver.url))
        (sent,) = deliver()
    assert (sent.state, sent.result) == ("queued", f"answered {status}")
    assert [got.path for got in receiver.received] == ["/hooks/sluice"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/hook", "http://169.254.169.254/latest", "http://localhost:9/x"])
def test_a_private_address_is_never_connected_to(settings, url):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    fired(a_webhook(url))
    (sent,) = deliver()
    assert sent.state == "failed"
    assert "private or reserved" in sent.result


def test_a_secret_address_is_in_no_result_and_no_log(caplog):
    caplog.set_level("DEBUG")
    secret_url = "http://127.0.0.1:9/services/T000/B000/topsecretpath"
    fired(a_channel("slack", sealed_secret=channels.sealed(secret_url)))
    (sent,) = deliver()
    assert sent.state == "queued"
    assert "topsecretpath" not in sent.result + caplog.text
    assert "topsecretpath" not in Channel.objects.get(kind="slack").sealed_secret


def test_a_mail_server_that_is_away_leaves_the_alert_and_tries_again(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # nobody listens
    alert = fired(a_channel())
    (sent,) = deliver()
    assert (sent.state, alert.state) == ("queued", "alerting")
    assert "ConnectionRefusedError" in sent.result


def test_the_shipped_channel_tells_nobody_until_somebody_is_named(settings):
    settings.ALERT_EMAILS = []
    shipped = Channel.objects.get(follows_settings=True)
    fired(shipped)
    assert not Notification.objects.exists()
    settings.ALERT_EMAILS = ["ops@example.com"]
    assert shipped.recipients == ["ops@example.com"]


# -- Acknowledged, silenced ---------------------------------------------------------------------------


def test_acknowledging_stops_what_waits_and_the_message_of_recovery():
    with webhook_receiver(500) as receiver:
        alert = fired(a_webhook(receiver.url))
        deliver(30)
        actions.acknowledge(alert, by="ops-2", note="month end", now=NOON + timedelta(seconds=31))
        (sent,) = deliver(40)
        assert (sent.state, sent.result) == ("dropped", "acknowledged by ops-2 meanwhile")
        traffic(100, calls=800)
        for seconds in (130, 190, 200):
            check(seconds)
        alert.refresh_from_db()
        assert (alert.state, alert.note) == ("normal", "month end")
        assert Notification.objects.count() == len(receiver.received) == 1


def test_a_silenced_alert_is_checked_and_tells_when_the_silence_is_over():
    only("oversized_share", recovery_seconds=0).channels.set([a_channel()])
    traffic(0, calls=100, oversized=6)
    check(30)
    actions.silence(Alert.objects.get(), by="ops-2", until=NOON + timedelta(hours=2), now=NOON + timedelta(seconds=31))
    traffic(60, calls=800)
    check(90)
    traffic(3600, calls=100, oversized=50)
    check(3630)
    again = Alert.objects.get(ended_at=None)
    assert (again.state, again.silenced_by) == ("alerting", "ops-2"), "a second episode is silenced too"
    assert Notification.objects.count() == 1
    traffic(7200, calls=100, oversized=50)
    check(7230)
    assert Notification.objects.count() == 2


def test_a_silence_that_somebody_has_ended_stays_ended_when_the_alert_fires_again():
    only("oversized_share", recovery_seconds=0).channels.set([a_channel()])
    alert = an_alert(ended_at=NOON)
    actions.silence(alert, by="ops-2", until=NOON + timedelta(hours=2), now=NOON)
    traffic(0, calls=100, oversized=6)
    check(30)
    again = Alert.objects.get(ended_at=None)
    actions.end_silence(again, by="ops-2", now=NOON + timedelta(seconds=31))
    traffic(60, calls=800)
    check(90)
    traffic(3600, calls=100, oversized=50)
    check(3630)
    third = Alert.objects.get(ended_at=None)
    assert (third.state, third.silenced_by, third.silenced_until) == ("alerting", "", None)
    assert Notification.objects.count() == 1


def until_sent(seconds: float) -> str:
    """The state of the only message, after its task was started, if it is due."""
    if notifications.start_due(NOON + timedelta(seconds=seconds)):
        deliver(seconds)
    return Notification.objects.get().state


def silenced_before_the_message_was_sent() -> Alert:
    """The oversized alert, silenced for an hour, whose message was not sent for that reason."""
    alert = fired(a_channel())
    now = NOON + timedelta(seconds=30)
    actions.silence(alert, by="ops-2", until=now + timedelta(hours=1), now=now)
    (waiting,) = deliver(31)
    assert (waiting.state, waiting.attempts) == ("queued", 0)
    assert waiting.result == "silenced; sent when the silence ends, unless the alert has ended by then"
    return alert


def test_a_message_that_was_silenced_is_sent_when_the_silence_ends_if_the_alert_still_fires():
    silenced_before_the_message_was_sent()
    assert until_sent(3600) == "queued"
    assert mail.outbox == []
    assert until_sent(3631) == "sent"
    assert [message.subject for message in mail.outbox] == ["[Sluice] ▲ Too many oversized answers is firing"]


def test_a_message_that_was_silenced_is_sent_when_somebody_ends_the_silence():
    alert = silenced_before_the_message_was_sent()
    actions.end_silence(alert, by="ops-2", now=NOON + timedelta(seconds=60))
    assert until_sent(61) == "sent"


@pytest.mark.parametrize("change", [{"ended_at": NOON + timedelta(seconds=3000)}, {"acknowledged_at": NOON}])
def test_a_message_that_was_silenced_is_dropped_if_the_alert_has_ended_or_is_acknowledged(change: dict[str, datetime]):
    silenced_before_the_message_was_sent()
    Alert.objects.update(**change)
    assert until_sent(3001) == "dropped", "at once, and not when the silence ends"
    assert mail.outbox == []


def test_a_silence_ends_within_seven_days():
    alert = fired()
    for until in (NOON - timedelta(seconds=1), NOON + timedelta(days=8)):
        with pytest.raises(ValueError, match="within the next 7 days"):
            actions.silence(alert, by="ops-2", until=until, now=NOON)


# -- Ended, switched off ------------------------------------------------------------------------------


def recovered(*told: Channel) -> Alert:
    """The oversized alert with these channels, which recovered after ten minutes."""
    only("oversized_share", recovery_seconds=0)
    alert = fired(*told)
    traffic(600, calls=800)
    check(630)
    alert.refresh_from_db()
    assert alert.ended_at is not None
    return alert


def test_of_an_alert_that_ended_before_its_message_was_sent_nobody_hears():
    recovered(a_channel())
    assert [(sent.state, sent.result) for sent in deliver(3600)] == [
        ("dropped", "the alert ended before this was sent"),
        ("dropped", "the message about the firing was not sent"),
    ]
    assert mail.outbox == []


def test_who_may_have_heard_that_it_fires_hears_that_it_recovered():
    with webhook_receiver(503) as lossy:
        fired(a_webhook(lossy.url))
        assert [sent.state for sent in deliver(31)] == ["queued"]
        traffic(600, calls=800)
        for seconds in (630, 690):
            check(seconds)
        deliver(3600)
        assert {json.loads(sent.body)["event"] for sent in lossy.received} == {"firing", "recovered"}


def test_only_the_channels_that_told_of_the_firing_tell_of_the_recovery():
    with webhook_receiver(404) as broken:
        told = a_channel()
        fired(told, a_webhook(broken.url))
        assert [sent.state for sent in deliver(31)] == ["sent", "failed"]
        traffic(600, calls=800)
        for seconds in (630, 690):
            check(seconds)
        assert {sent.channel: sent.state for sent in deliver(691)[2:]} == {
            told: "sent",
            Channel.objects.get(kind="webhook"): "dropped",
        }
        assert len(broken.received) == 1
    assert [message.subject.rsplit(" ", 1)[1] for message in mail.outbox] == ["firing", "recovered"]


def test_the_message_of_recovery_waits_while_another_worker_sends_the_one_of_firing():
    recovered(a_channel())
    attempted_until = NOON + timedelta(seconds=631) + notifications.LEASE
    firing, recovery = Notification.objects.order_by("pk")
    Notification.objects.filter(pk=firing.pk).update(attempts=1, due_at=attempted_until)
    deliver(632)
    recovery.refresh_from_db()
    assert (recovery.state, recovery.attempts, recovery.due_at) == ("queued", 0, attempted_until)
    Notification.objects.filter(pk=firing.pk).update(state="sent")
    deliver(692)
    assert [message.subject for message in mail.outbox] == ["[Sluice] ● Too many oversized answers has recovered"]


def test_a_channel_that_was_switched_off_sends_nothing_that_waits():
    channel, other = a_channel(), a_channel(name="other")
    fired(channel, other)
    Channel.objects.filter(pk=channel.pk).update(is_enabled=False)
    assert [(sent.state, sent.result) for sent in deliver(31)] == [
        ("dropped", "the channel was switched off before this was sent"),
        ("sent", "sent to ops@example.com"),
    ]
    assert len(mail.outbox) == 1


# -- Test button ------------------------------------------------------------------------------------


def test_a_test_goes_to_every_ticked_channel_and_shows_each_result():
    with webhook_receiver(500, 500, 500) as broken, webhook_receiver() as sound:
        ticked = [
            a_channel(name="ops"),
            a_webhook(broken.url, name="bridge"),
            a_webhook(sound.url, name="pager"),
        ]
        results = trial.send_test(AlertRule.objects.get(shipped_as="error_rate"), ticked, by="ops-2")
        assert trial.summary(results) == "Test sent to 2 of 3 channels."
        assert [result.sentence for result in results] == [
            "Email ops sent to ops@example.com.",
            "Webhook bridge answered 500 after 3 attempts.",
            "Webhook pager answered 204.",
        ]
        assert json.loads(sound.received[0].body)["event"] == "test"
    assert mail.outbox[0].subject == "[Sluice] ○ Test of the rule Too many errors"
    assert not Notification.objects.exists()
