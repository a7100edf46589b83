"""Guesses of passwords are counted by name and address, before anything is hashed for them."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from gateway.access.addresses import network_of
from gateway.logins import events, tasks, throttle
from gateway.logins.models import LoginFailures, SecurityEvent

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
PASSWORD, WRONG = "orchard-lantern-52", "not-my-password-9"
HTML = {"accept": "text/html"}
SecurityEventKind = SecurityEvent.SecurityEventKind


class Counted(PBKDF2PasswordHasher):
    """Quick, and counted."""

    iterations = 1
    hashes = 0

    def encode(self, *args: Any, **kwargs: Any) -> str:
        Counted.hashes += 1
        return super().encode(*args, **kwargs)


@pytest.fixture(autouse=True)
def clerk(settings: Any) -> User:
    settings.PASSWORD_HASHERS = [f"{__name__}.Counted"]
    user = User.objects.create_user("clerk", password=PASSWORD, is_staff=True)
    Counted.hashes = 0
    return user


def guess(password: str = WRONG, *, name: str = "clerk", address: str = "192.0.2.1", **headers: str) -> Any:
    body = {"username": name, "password": password}
    return Client().post(LOGIN, body, REMOTE_ADDR=address, headers={**HTML, **headers})


def lock(**whom: str) -> None:
    for _ in range(throttle.MAX_FAILURES):
        assert guess(**whom).status_code == 200
    assert guess(**whom).status_code == 429


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


def test_the_sixth_guess_is_refused_without_a_hash():
    lock()
    hashes = Counted.hashes
    response = guess(PASSWORD)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= throttle.WINDOW_SECONDS
    assert "Try again in 15 minutes" in response.content.decode()
    assert Counted.hashes == hashes == throttle.MAX_FAILURES


def test_a_program_is_refused_in_json():
    lock()
    body = {"username": "clerk", "password": WRONG}
    response = Client().post(LOGIN, body, REMOTE_ADDR="192.0.2.1", headers={"accept": "application/json"})
    error = response.json()["error"]
    assert error["reason"] == "locked_out"
    assert str(error["data"]["retry_after"]) == response["Retry-After"]


def test_another_address_and_another_name_are_not_locked():
    lock()
    assert guess(PASSWORD, address="192.0.2.2").status_code == 302
    User.objects.create_user("cook", password=PASSWORD, is_staff=True)
    assert guess(PASSWORD, name="cook").status_code == 302
    assert guess(PASSWORD).status_code == 429


def test_names_that_nobody_has_are_counted_too():
    lock(name="nobody")


def test_a_login_begins_with_no_failures_again():
    for _ in range(throttle.MAX_FAILURES - 1):
        guess()
    assert guess(PASSWORD).status_code == 302
    lock()


def test_failures_are_forgotten_after_a_quarter_of_an_hour(rf: Any):
    request = rf.post(LOGIN, REMOTE_ADDR="192.0.2.1")
    for second in range(throttle.MAX_FAILURES):
        throttle.begin("clerk", request, clock=lambda at=second: 1000.0 + at).failed()
    with pytest.raises(throttle.LockedOut) as refused:
        throttle.begin("clerk", request, clock=lambda: 1010.0)
    assert refused.value.retry_after == throttle.WINDOW_SECONDS - 10
    throttle.begin("clerk", request, clock=lambda: 1000.0 + throttle.WINDOW_SECONDS)


def test_unlocking_lets_in_at_once(capsys: pytest.CaptureFixture[str]):
    lock()
    lock(address="192.0.2.7")
    call_command("unlock_login", "clerk", address="192.0.2.1")
    assert guess(PASSWORD).status_code == 302
    assert guess(PASSWORD, address="192.0.2.7").status_code == 429
    call_command("unlock_login", "clerk")
    assert guess(PASSWORD, address="192.0.2.7").status_code == 302
    assert kinds().count(SecurityEventKind.UNLOCKED) == 2
    assert "cleared for 1 address" in capsys.readouterr().out


def test_the_old_password_is_guessed_no_more_often(clerk: User):
    client = Client()
    client.force_login(clerk)
    body = {"new_password1": "cedar-harbour-77", "new_password2": "cedar-harbour-77"}

    def change(old: str) -> int:
        sent = {**body, "old_password": old}
        return client.post("/admin/password_change/", sent, REMOTE_ADDR="192.0.2.1", headers=HTML).status_code

    assert [change(WRONG) for _ in range(6)] == [200] * 5 + [429]
    assert change(PASSWORD) == 429
    assert guess(PASSWORD).status_code == 429
    call_command("unlock_login", "clerk")
    assert change(PASSWORD) == 302
    assert SecurityEventKind.PASSWORD_CHANGED in kinds()


def test_x_forwarded_for_is_no_address_of_a_request():
    """Who is behind a proxy, the server has put into REMOTE_ADDR (tests/e2e/test_logins.py)."""
    for number in range(throttle.MAX_FAILURES):
        guess(x_forwarded_for=f"198.51.100.{number}")
    assert guess(x_forwarded_for="198.51.100.99").status_code == 429


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("unknown", "unknown"),
        ("x" * 300, "x" * 64),
    ],
)
def test_failures_are_counted_by_network(address: str, network: str):
    assert network_of(address) == network


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite's test database, in memory, is one thread's")
@pytest.mark.django_db(transaction=True)
def test_thirty_guesses_in_parallel_are_five():
    def one(_: int) -> int:
        try:
            return int(guess().status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(30) as threads:
        statuses = sorted(threads.map(one, range(30)))
    assert statuses == [200] * 5 + [429] * 25
    assert Counted.hashes == 5


# -- What is told of it -----------------------------------------------------------------------------


def test_events_are_kept_and_logged_without_what_was_typed(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "gateway.logins")
    guess()
    guess("hunter2hunter2", name="my-password-in-the-wrong-field")
    guess(PASSWORD)
    rows = list(SecurityEvent.objects.order_by("pk").values_list("kind", "name", "address"))
    assert rows == [
        (SecurityEventKind.LOGIN_FAILED, "clerk", "192.0.2.1"),
        (SecurityEventKind.LOGIN_FAILED, "", "192.0.2.1"),
        (SecurityEventKind.LOGIN, "clerk", "192.0.2.1"),
    ]
    assert [(each.message, each.user, each.address) for each in caplog.records] == [
        ("login_failed", "clerk", "192.0.2.1"),
        ("login_failed", None, "192.0.2.1"),
        ("login", "clerk", "192.0.2.1"),
    ]
    everything = repr([vars(each) for each in caplog.records]) + repr(list(LoginFailures.objects.values()))
    for typed in ("my-password-in-the-wrong-field", "hunter2hunter2", WRONG, PASSWORD):
        assert typed not in everything


def test_a_lockout_is_told_once():
    lock()
    guess()
    assert kinds() == [SecurityEventKind.LOGIN_FAILED] * 5 + [SecurityEventKind.LOCKED_OUT]


def test_what_is_old_is_purged(clerk: User):
    guess()
    guess(name="other")
    long_ago = timezone.now() - events.RETENTION - timedelta(days=1)
    LoginFailures.objects.filter(name_digest=throttle.digest("other")).update(last_at=long_ago)
    SecurityEvent.objects.filter(name="").update(at=long_ago)
    tasks.purge()
    assert LoginFailures.objects.get().name_digest == throttle.digest("clerk")
    assert kinds() == [SecurityEventKind.LOGIN_FAILED]


def test_an_attack_does_not_fill_the_audit_trail(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "MAX_FAILED", 3)
    guess(PASSWORD)
    for number in range(5):
        guess(address=f"192.0.2.{number}")
    tasks.purge()
    rows = SecurityEvent.objects.order_by("pk").values_list("kind", "address")
    assert list(rows) == [
        (SecurityEventKind.LOGIN, "192.0.2.1"),
        *((SecurityEventKind.LOGIN_FAILED, f"192.0.2.{last}") for last in (2, 3, 4)),
    ]
