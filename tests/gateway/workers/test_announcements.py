"""What one process announces, the others hear. Each `Announcements` here is a process's."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.test import override_settings

from context_protection.breaker import FIRST_COOLDOWN, OPENS_AFTER, Breaker
from context_protection.stores.announcements import Announcements, Topic, _channel, _kept_key
from context_protection.stores.redis_client import connect
from gateway.upstreams import shared_breakers
from gateway.upstreams.shared_breakers import BreakerOutcome
from telemetry import events
from telemetry.models import Event
from tests.gateway.workers.running_store import running_store
from tests.patience import PATIENCE


class ProcessOfTest(Announcements):
    kept_at_start: dict[str, Any]


@contextmanager
def listening(heard: Callable[[Any], None] = lambda message: None, topic: str = "news") -> Iterator[ProcessOfTest]:
    """A process that listens from now on."""
    ready: Queue[dict[str, Any]] = Queue()
    process = ProcessOfTest()
    process.follow(topic, Topic(heard, ready.put))
    process.start()
    process.kept_at_start = ready.get(timeout=PATIENCE)
    try:
        yield process
    finally:
        process.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    with running_store(tmp_path) as url, override_settings(REDIS_URL=url):
        yield url


def test_others_hear_a_message_and_the_sender_does_not(store: str):
    own: Queue[Any] = Queue()
    others: Queue[Any] = Queue()
    with listening(own.put) as sender, listening(others.put) as other:
        sender.tell("news", {"n": 1})
        assert others.get(timeout=PATIENCE) == {"n": 1}
        other.tell("news", "back")
        assert own.get(timeout=PATIENCE) == "back"


def test_what_is_kept_reaches_who_starts_later(store: str):
    with listening() as one:
        one.keep("news", "gone", 1)
        one.keep("news", "there", [2, 3])
        one.keep("news", "gone", None)
    with listening() as later:
        assert later.kept_at_start == {"there": [2, 3]}


def test_a_follower_that_fails_does_not_end_the_listening(store: str, caplog: pytest.LogCaptureFixture):
    heard: Queue[Any] = Queue()

    def follow(message: Any) -> None:
        if message == "bad":
            raise ValueError("bad")
        heard.put(message)

    with listening() as one, listening(follow):
        one.tell("news", "bad")
        one.tell("news", "good")
        assert heard.get(timeout=PATIENCE) == "good"
    assert "an announcement was not understood" in caplog.text


def test_what_is_not_json_does_not_end_the_listening(store: str, caplog: pytest.LogCaptureFixture):
    stranger, heard = connect(store), Queue[Any]()
    stranger.hset(_kept_key("other"), "key", "riddle")
    with listening() as one:
        later = Announcements()
        later.follow("other", Topic(heard.put, heard.put))
        later.follow("news", Topic(heard.put, heard.put))
        later.start()
        assert heard.get(timeout=PATIENCE) == {}, "what is kept of the second topic"
        stranger.publish(_channel(), "riddle")
        one.tell("news", "good")
        assert heard.get(timeout=PATIENCE) == "good"
        later.stop()
    assert "an announcement was not understood" in caplog.text


def test_without_a_shared_store_nothing_is_sent_and_nothing_waits(settings: Any):
    settings.REDIS_URL = ""
    alone = Announcements()
    alone.start()
    alone.tell("news", 1)
    alone.keep("news", "key", 1)
    alone.stop()
    assert not alone._threads


def test_a_process_that_starts_finds_breakers_as_they_are(store: str, monkeypatch: pytest.MonkeyPatch):
    with listening() as one:
        monkeypatch.setattr(shared_breakers, "announcements", one)
        breaker = Breaker()
        shared_breakers.join("acme-of-this-test", breaker)
        for _ in range(5):
            breaker.failed()
            shared_breakers.tell("acme-of-this-test", breaker, BreakerOutcome.FAILED, "upstream_failed")
    with listening(topic=shared_breakers.TOPIC) as later:
        shared_breakers._catch_up(later.kept_at_start)
    fresh = Breaker()
    shared_breakers.join("acme-of-this-test", fresh)
    assert fresh.state == "open"
    assert fresh.enter() > 0


def test_a_breaker_that_closed_before_a_process_used_its_upstream_is_closed_there():
    shared_breakers._catch_up({"closed-elsewhere": [time.time() + 60, 60.0]})
    shared_breakers._hear({"upstream": "closed-elsewhere", "outcome": "succeeded", "reason": ""})
    breaker = Breaker()
    shared_breakers.join("closed-elsewhere", breaker)
    assert breaker.state == "closed"


def test_a_process_that_catches_up_opens_the_breakers_that_it_already_uses():
    breaker = Breaker()
    shared_breakers.join("used-already", breaker)
    shared_breakers._catch_up({"used-already": [time.time() + 60, 60.0]})
    assert breaker.state == "open"
    assert 59 < breaker.enter() <= 60


@pytest.mark.django_db
def test_a_trial_of_another_process_holds_up_trials_here_until_it_ends_and_its_result_counts_here():
    now = 1000.0
    breaker = Breaker(lambda: now)
    shared_breakers.join("tried-elsewhere", breaker)

    def hear(outcome: BreakerOutcome, reason: str = "") -> None:
        shared_breakers._hear({"upstream": "tried-elsewhere", "outcome": outcome.value, "reason": reason})

    for _ in range(OPENS_AFTER):
        hear(BreakerOutcome.FAILED, "upstream_failed")
    assert breaker.enter() == FIRST_COOLDOWN
    now += FIRST_COOLDOWN
    hear(BreakerOutcome.TRYING)
    assert breaker.enter() == 1.0, "the other process decides"
    hear(BreakerOutcome.FAILED, "upstream_failed")
    assert breaker.enter() == 2 * FIRST_COOLDOWN
    now += 2 * FIRST_COOLDOWN
    hear(BreakerOutcome.TRYING)
    hear(BreakerOutcome.ABANDONED)
    assert breaker.enter() == 0.0, "the next call is the trial"
    hear(BreakerOutcome.SUCCEEDED)
    assert [breaker.enter(), breaker.enter()] == [0.0, 0.0]
    assert events.flush()
    recorded = Event.objects.filter(subject="tried-elsewhere").order_by("pk").values_list("before", "after", "reason")
    assert list(recorded) == [(Event.CLOSED, Event.OPEN, "upstream_failed"), (Event.OPEN, Event.CLOSED, "")]
