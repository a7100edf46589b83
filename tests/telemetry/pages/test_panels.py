"""A panel fails alone."""

import time

import pytest
from django.db import connection, transaction

from telemetry import queries
from telemetry.models import TelemetryRecord
from telemetry.pages import panels
from telemetry.pages.panels import guarded
from tests.telemetry.pages.seeds import the_story

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(60)",
}


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def short_patience(monkeypatch):
    monkeypatch.setattr(panels, "SECONDS", 0.2)


def test_an_endless_query_is_stopped_and_later_ones_are_not(db, short_patience):
    began = time.monotonic()
    panel = guarded("Slow", lambda: run(ENDLESS[connection.vendor]))
    assert time.monotonic() - began < 10
    assert panel.content is None
    assert "was stopped. The others are complete." in panel.failure
    assert guarded("Next", lambda: queries.totals(_an_hour()).calls).content == 0
    # The time limit ends with the panel.
    panel = guarded("Limit", lambda: None)
    assert panel.failure == ""


def test_a_page_shows_its_other_panels_when_one_fails(staff, short_patience, monkeypatch):
    the_story()
    monkeypatch.setattr("telemetry.pages.group_table.groups_of", lambda *_: run(ENDLESS[connection.vendor]))
    page = staff.get("/telemetry/overview/?range=1h").content.decode()
    assert "This panel took longer than 0.2 s and was stopped." in page
    assert 'href="/telemetry/overview/?range=1h">Try again</a>' in page
    assert 'id="chart-outcomes"' in page
    assert "75.0% answered" not in page  # 92 calls, 22 failed
    assert "92 calls, 76.1% answered." in page


@pytest.fixture
def no_table_of_calls(db):
    """As after a migration that went wrong."""
    table = TelemetryRecord._meta.db_table
    before = transaction.savepoint()
    run(f"ALTER TABLE {table} RENAME TO {table}_away")
    yield
    transaction.savepoint_rollback(before)  # on Postgres an error has ended all but that


PAGES = (
    *(
        "",
        "overview/",
        "tools/",
        "tools/list_bookings/",
        "callers/",
        "callers/ops-bot/",
        "upstreams/",
        "upstreams/acme/",
    ),
    *("calls/", "live/", "accuracy/", "alerts/", "search/?q=book"),
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_that_cannot_read_calls_says_so(staff, no_table_of_calls, path):
    answer = staff.get(f"/telemetry/{path}")
    assert answer.status_code == 200
    page = answer.content.decode()
    if path not in ("accuracy/", "alerts/", "search/?q=book"):  # which need no call
        assert "calls cannot be read now" in page or "answered this panel with an error" in page
        assert "✕" in page or "shape error" in page


def test_home_is_not_green_while_the_lights_cannot_be_read(admin_client, no_table_of_calls):
    """Once, it said "Running", and showed nothing in place of figures."""
    page = admin_client.get("/").content.decode()
    assert "Running, but its state is not known" in page
    assert "The calls cannot be read now, so there are no figures." in page
    assert "state-ok" not in page


def test_an_error_of_the_database_is_said_without_its_text(db):
    panel = guarded("Broken", lambda: run("SELECT nosuch FROM nowhere"))
    assert "is in the server's log" in panel.failure
    assert "nowhere" not in panel.failure


def test_a_bug_is_not_hidden(db):
    with pytest.raises(ZeroDivisionError):
        guarded("Bug", lambda: 1 / 0)


def _an_hour() -> queries.Span:
    from datetime import timedelta

    from django.utils import timezone

    now = timezone.now()
    return queries.Span.of(now - timedelta(hours=1), now)
