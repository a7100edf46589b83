"""Token counts are audited off the hot path: sampled, counted in full, classified, stored (FR-014)."""

import itertools
import json
import logging
import threading
from uuid import uuid4

import pytest
from django.db import connection

from context_protection.core import tokens
from context_protection.core.payloads import Envelope, Outcome
from gateway.dispatch import audit
from gateway.dispatch.audit import Auditor, Counter, Provider
from telemetry.models import TokenAudit
from tests.caches import keep_responses
from tests.doors import Doors
from tests.simulators.provider import CountingProvider, counting_provider

KEY = "sk-never-shown"
BODY = json.dumps({"items": [{"id": n, "name": f"Booking {n}"} for n in range(40)]}).encode()


@pytest.fixture
def provider():
    with counting_provider() as simulated:
        yield simulated


def envelope(body: bytes = BODY, claude_tokens: int = 600) -> Envelope:
    return Envelope(body, Outcome.PLAIN, tokens.formula(body.decode()), claude_tokens, 900)


def at_the(simulated: CountingProvider, **more) -> Counter:
    return Counter(Provider(simulated.url, KEY, "claude-opus-4-8"), **more)


def on_this_thread(share: float = 1.0, counter: Counter | None = None, **more) -> Auditor:
    return Auditor(share, counter or Counter(None), threaded=False, **more)


# -- The hot path -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_the_share_of_answers_that_is_taken_is_the_share_that_is_set(share):
    clock = itertools.count(0, audit.PAUSE_SECONDS)
    auditor = on_this_thread(share, waiting=10**9, clock=lambda: float(next(clock)))
    for n in range(20_000):
        auditor.consider(f"{n:032x}", "list_bookings", envelope())
    assert auditor.state().waiting == pytest.approx(20_000 * share, rel=0.15)


def test_where_calls_are_many_samples_are_taken_in_turns_unless_all_are_asked_for():
    now = 100.0
    some, every = (on_this_thread(share, waiting=10**9, clock=lambda: now) for share in (0.5, 1.0))

    def call(count: int) -> tuple[int, int]:
        for n in range(count):
            for auditor in (some, every):
                auditor.consider(f"{n:032x}", "list_bookings", envelope())
        return some.state().waiting, every.state().waiting

    assert call(100) == (1, 100)
    now += audit.PAUSE_SECONDS
    assert call(100) == (2, 200)


def test_a_full_queue_drops_the_sample_and_counts_it():
    auditor = on_this_thread(waiting=7 * len(BODY))
    for _ in range(7 + 3):
        auditor.consider(uuid4().hex, "list_bookings", envelope())
    assert (auditor.state().waiting, auditor.state().dropped) == (7, 3)


def test_a_burst_of_answers_waits_where_all_are_audited():
    auditor, large = on_this_thread(), envelope(b"x" * 12_000)
    for n in range(5_000):
        auditor.consider(f"{n:032x}", "list_bookings", large)
    assert (auditor.state().waiting, auditor.state().dropped) == (5_000, 0)


@pytest.mark.django_db
def test_counted_samples_make_room_for_others():
    auditor = on_this_thread(waiting=2 * len(BODY))
    for _ in range(3):
        for _ in range(2):
            auditor.consider(uuid4().hex, "list_bookings", envelope())
        assert auditor.flush()
    assert (auditor.state().stored, auditor.state().dropped) == (6, 0)


def test_considering_raises_nothing_whatever_the_id_is():
    auditor = on_this_thread(1.0)
    for n in range(100):
        auditor.consider(f"\ud83d-{n}", "list_bookings", envelope())
    assert auditor.state().waiting == 100


# -- The full count ---------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_sample_is_stored_as_a_pair_with_its_class():
    auditor = on_this_thread()
    auditor.consider("id", "list_bookings", envelope())
    assert auditor.flush()
    row = TokenAudit.objects.get()
    assert (row.operation, row.text_class, row.source, row.chars) == ("list_bookings", "json", "ctok", len(BODY))
    assert (row.formula_tokens, row.claude_tokens) == (tokens.formula(BODY.decode()), 600)
    assert row.actual_tokens == tokens.exact(BODY.decode())
    assert auditor.state().stored == 1


@pytest.mark.django_db
def test_with_a_key_the_provider_counts_without_the_frame_of_its_message(provider):
    auditor = on_this_thread(counter=at_the(provider))
    auditor.consider("id", "list_bookings", envelope())
    assert auditor.flush()
    row = TokenAudit.objects.get()
    assert (row.actual_tokens, row.source) == (len(BODY), "provider")
    (request,) = provider.requests
    assert request["path"] == "/v1/messages/count_tokens"
    assert request["headers"]["x-api-key"] == KEY
    assert request["document"] == {
        "model": "claude-opus-4-8",
        "messages": [{"role": "user", "content": BODY.decode()}],
    }


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_provider_that_fails_is_counted_left_alone_for_a_while_and_stood_in_for(provider, status, caplog):
    now = [0.0]
    counter = at_the(provider, clock=lambda: now[0])
    provider.status = status
    assert counter.count("a text") == counter.count("a text")
    assert counter.count("a text") == audit.Actual(tokens.exact("a text"), TokenAudit.Source.CTOK)
    assert (counter.failures, len(provider.requests)) == (1, 1)
    assert KEY not in caplog.text

    provider.status = 200
    now[0] = audit.PROVIDER_PAUSE_SECONDS
    assert counter.count("a text").source == TokenAudit.Source.PROVIDER


@pytest.mark.parametrize("reply", [b"", b"[]", b"no json", b'{"input_tokens":"many"}', b'{"input_tokens":2}', b"\xff"])
def test_an_odd_answer_of_the_provider_is_a_failure(provider, reply):
    provider.reply = reply
    counter = at_the(provider)
    assert counter.count("a text").source == TokenAudit.Source.CTOK
    assert counter.failures == 1


def test_nobody_at_the_providers_address_is_a_failure():
    for address in ("http://127.0.0.1:1", "no address", "http://[::1", ""):
        counter = Counter(Provider(address, KEY, "m"))
        assert counter.count("a text").source == TokenAudit.Source.CTOK
        assert counter.failures == 1


def test_a_key_that_no_header_can_hold_is_a_failure_that_does_not_show_it(caplog):
    counter = Counter(Provider("http://127.0.0.1:1", "schlüssel\n", "m"))
    assert counter.count("a text").source == TokenAudit.Source.CTOK
    assert "schl" not in caplog.text


def test_the_key_decides_whether_anything_leaves(settings):
    settings.ANTHROPIC_API_KEY = ""
    assert audit.counter_from_settings()._provider is None
    settings.ANTHROPIC_API_KEY = KEY
    assert audit.counter_from_settings()._provider is not None


@pytest.mark.django_db
def test_a_sample_that_cannot_be_counted_costs_itself_alone(caplog):
    class Failing(Counter):
        def count(self, text):
            if "bad" in text:
                raise KeyError("a piece")
            return super().count(text)

    auditor = on_this_thread(counter=Failing(None))
    for body in (b'{"bad":1}', BODY):
        auditor.consider("id", "list_bookings", envelope(body))
    assert auditor.flush()
    assert TokenAudit.objects.count() == 1
    assert (auditor.state().stored, auditor.state().dropped) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_the_database_being_away_drops_the_sample():
    table = TokenAudit._meta.db_table
    auditor = on_this_thread()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
        try:
            auditor.consider("id", "list_bookings", envelope())
            assert auditor.flush()
        finally:
            cursor.execute(f"ALTER TABLE {table}_away RENAME TO {table}")
    assert (auditor.state().dropped, auditor.state().waiting) == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_the_audit_thread_counts_without_being_asked():
    auditor = Auditor(1.0, Counter(None))
    auditor.consider("id", "list_bookings", envelope())
    assert "token-audit" in {thread.name for thread in threading.enumerate()}
    assert auditor.flush(30)
    assert TokenAudit.objects.count() == 1
    assert auditor.stop(30)
    assert "token-audit" not in {thread.name for thread in threading.enumerate()}


# -- Every door -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_answer_of_the_dispatcher_is_audited_and_its_meta_is_unchanged(doors: Doors, monkeypatch):
    plain = doors.rest("list_bookings", {"limit": 3})
    auditor = on_this_thread()
    monkeypatch.setattr(audit, "_auditor", auditor)
    sampled = doors.rest("list_bookings", {"limit": 3})
    assert set(sampled["meta"]) == set(plain["meta"])
    assert auditor.flush()
    row = TokenAudit.objects.get()
    assert (row.operation, row.formula_tokens) == ("list_bookings", sampled["meta"]["estimatedTokens"])


@pytest.mark.django_db
def test_an_answer_that_is_sent_again_is_audited_again(doors: Doors, monkeypatch):
    keep_responses(monkeypatch)
    auditor = on_this_thread()
    monkeypatch.setattr(audit, "_auditor", auditor)
    for _ in range(3):
        doors.rest("list_bookings", {"limit": 4})
    assert auditor.flush()
    assert TokenAudit.objects.count() == 3


@pytest.mark.django_db
def test_health_tells_how_the_counts_compare(admin_client, monkeypatch, caplog):
    auditor = on_this_thread()
    monkeypatch.setattr(audit, "_auditor", auditor)
    before = admin_client.get("/health").json()["tokenAudit"]
    shares = {"withinTenPercent": None, "withinTwentyPercent": None}
    assert before == {"n": 0, **shares, "medianRatio": None, "dropped": 0, "providerFailures": 0}
    with caplog.at_level(logging.INFO, logger="telemetry"):
        auditor.consider("id", "list_bookings", envelope(claude_tokens=tokens.exact(BODY.decode())))
        auditor.flush()
    shown = admin_client.get("/health").json()["tokenAudit"]
    assert (shown["n"], shown["medianRatio"], shown["withinTenPercent"]) == (1, 1.0, 1.0)
