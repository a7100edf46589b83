"""API keys: stored as hashes, shown once, refused the moment they are revoked or expired."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from context_protection.core.errors import NotAuthenticated, StoreUnavailable
from gateway.access import callers
from gateway.access.callers import KEYS_SECONDS, caller_of, caller_of_key
from gateway.access.keys import digest, new_key
from gateway.access.models import ApiKey
from gateway.access.visits import Visit
from tests.doors import Doors

pytestmark = pytest.mark.django_db

HERE = Visit("rest", "127.0.0.1")


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def issued(committed: Any) -> tuple[ApiKey, str]:
    with committed():
        return ApiKey.objects.issue("desk")


def stored_text() -> str:
    """All that the database holds of keys, their history included."""
    with connection.cursor() as cursor:
        rows = []
        for table in ("access_apikey", "access_historicalapikey"):
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
            rows += cursor.fetchall()
    return str(rows)


def test_only_the_hash_of_a_key_is_stored(issued: tuple[ApiKey, str]):
    key, secret = issued
    assert secret not in stored_text()
    assert secret[12:] not in stored_text()
    assert key.digest == digest(secret)
    assert secret.startswith(key.prefix)
    assert len(key.prefix) < 12


def test_the_history_has_no_digest(issued: tuple[ApiKey, str]):
    key, _ = issued
    key.revoke()
    assert key.history.count() == 2
    assert "digest" not in {field.name for field in key.history.model._meta.fields}


def test_no_two_keys_are_alike_and_each_is_long():
    assert len({new_key() for _ in range(100)}) == 100
    assert len(new_key()) >= 4 + 43


def test_a_key_names_its_caller(issued: tuple[ApiKey, str]):
    key, secret = issued
    caller = caller_of(f"Bearer {secret}", HERE)
    assert (caller.id, caller.name) == (f"key:{key.pk}", "desk")
    assert caller_of(f"bearer   {secret} ", HERE) == caller


def test_who_calls_costs_no_query(issued: tuple[ApiKey, str], django_assert_num_queries: Any):
    caller_of_key(issued[1])
    with django_assert_num_queries(0):
        caller_of_key(issued[1])


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "no API key"),
        ("Bearer", "no API key"),
        ("Bearer ", "no API key"),
        ("Bearer slc_wrong", "unknown"),
        ("Bearer \ud800", "unknown"),
        ("Basic dXNlcjpwYXNz", "not of the form"),
        ("slc_without_scheme", "not of the form"),
    ],
)
def test_any_other_header_is_refused_and_not_repeated(header: str, words: str):
    with pytest.raises(NotAuthenticated, match=words) as refused:
        caller_of(header, HERE)
    assert refused.value.value == "(not shown)"
    assert header not in str(refused.value.document()) or len(header) < 8


def test_a_revoked_key_is_refused_by_the_very_next_call(committed: Any, issued: tuple[ApiKey, str]):
    key, secret = issued
    doors = Doors(secret)
    assert "items" in doors.rest("list_documents", {})
    with committed():
        key.revoke()
    response = doors.response("/api/v1/documents")
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["error"]["reason"] == "not_authenticated"


def test_a_key_that_was_deleted_is_refused_by_the_very_next_call(committed: Any, issued: tuple[ApiKey, str]):
    key, secret = issued
    caller_of_key(secret)
    with committed():
        key.delete()
    with pytest.raises(NotAuthenticated, match="unknown"):
        caller_of_key(secret)


@pytest.mark.parametrize(("minutes", "works"), [(1, True), (-1, False)])
def test_a_key_works_until_it_expires(committed: Any, minutes: int, works: bool):
    with committed():
        _, secret = ApiKey.objects.issue("guest", expires_at=timezone.now() + timedelta(minutes=minutes))
    if works:
        assert caller_of_key(secret).name == "guest"
    else:
        with pytest.raises(NotAuthenticated, match="expired"):
            caller_of_key(secret)


class LongUnread:
    """A revision that could not be read from the database for so long."""

    def __init__(self, seconds: float) -> None:
        self.confirmed_at = time.monotonic() - seconds


def test_keys_let_in_for_a_while_when_the_database_cannot_be_read_and_then_nobody(
    issued: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
):
    _, key = issued
    monkeypatch.setattr(callers, "revisions", LongUnread(KEYS_SECONDS - 60))
    assert caller_of_key(key).name == "desk"
    assert callers.current() is not None
    monkeypatch.setattr(callers, "revisions", LongUnread(KEYS_SECONDS))
    assert callers.current() is None
    with pytest.raises(StoreUnavailable):
        caller_of_key(key)
