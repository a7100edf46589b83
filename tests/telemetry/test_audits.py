"""Audited token counts: pairs, what they add up to, and the alert when our count drifts (FR-014, E3)."""

import logging
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from telemetry import audits, retention, tasks
from telemetry.audits import Audit
from telemetry.models import Alert, TokenAudit
from tests.telemetry.alerts.examples import check, only
from tests.telemetry.examples import NOON

PAGE = "/admin/telemetry/tokenaudit/"


def an_audit(**changes) -> Audit:
    fields = {
        "at": NOON,
        "operation": "list_bookings",
        "text_class": "json",
        "chars": 3200,
        "formula_tokens": 960,
        "claude_tokens": 1000,
        "actual_tokens": 1000,
        "source": "ctok",
    }
    return Audit(**{**fields, **changes})


def stored(*given: Audit) -> None:
    for audit in given:
        audits.store(audit)


# -- Figures ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_shares_and_medians_are_of_the_counts_beside_the_actual_one():
    stored(
        an_audit(formula_tokens=800, claude_tokens=1100),  # both on the line
        an_audit(formula_tokens=799, claude_tokens=1101),
        an_audit(formula_tokens=1300, claude_tokens=1000),
    )
    figures = audits.summary()
    assert figures.count == 3
    assert figures.formula_within == pytest.approx(1 / 3)
    assert figures.claude_within == pytest.approx(2 / 3)
    assert (figures.formula_ratio, figures.claude_ratio) == (0.8, 1.1)


@pytest.mark.django_db
def test_classes_come_apart_the_most_audited_first():
    stored(an_audit(), *[an_audit(text_class="cjk", claude_tokens=900)] * 2)
    classes = audits.by_class()
    assert [(each.text_class, each.figures.count, each.figures.claude_ratio) for each in classes] == [
        ("cjk", 2, 0.9),
        ("json", 1, 1.0),
    ]


@pytest.mark.django_db
def test_nothing_audited_has_no_figures():
    figures = audits.summary()
    assert (figures.count, figures.formula_within, figures.claude_ratio) == (0, None, None)
    stored(an_audit(actual_tokens=0))
    assert audits.summary().count == 0


@pytest.mark.django_db
def test_only_the_newest_are_looked_at(monkeypatch):
    stored(an_audit(at=NOON - timedelta(days=1), claude_tokens=5000), an_audit())
    assert [pair.claude for pair in audits.newest_of_class("json", 1)] == [1.0]


@pytest.mark.django_db
@pytest.mark.parametrize(("formula_tokens", "lines"), [(701, 0), (699, 1), (1300, 0), (1301, 1)])
def test_a_formula_that_is_far_off_is_logged_once(caplog, formula_tokens, lines):
    with caplog.at_level(logging.INFO, logger="telemetry"):
        stored(an_audit(formula_tokens=formula_tokens))
    assert caplog.messages == ["token estimate is far off"] * lines


# -- Drift ------------------------------------------------------------------------------------------


def off_by(percent: int, count: int, text_class: str = "json", at=NOON) -> None:
    stored(*[an_audit(at=at, text_class=text_class, claude_tokens=1000 + 10 * percent)] * count)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("percent", "state"), [(4, None), (6, "alerting"), (-6, "alerting")]
)  # the line itself does not fire
def test_a_class_fires_that_is_more_than_five_percent_off(percent, state):
    only("token_drift")
    off_by(percent, 20)
    check(0)
    assert [alert.state for alert in Alert.objects.all()] == ([state] if state else [])


@pytest.mark.django_db
def test_a_class_that_drifts_opens_one_alert_which_clears_when_it_is_back(caplog):
    only("token_drift")
    off_by(0, 40, "prose")
    off_by(-8, 19)
    check(0)
    assert not Alert.objects.exists(), "too few to mean anything"
    off_by(-8, 1)
    for seconds in (30, 60):
        check(seconds)

    alert = Alert.objects.get()
    assert (alert.rule.kind, alert.state, alert.sample) == ("token_drift", "alerting", 60)
    assert alert.value == pytest.approx(0.08)
    assert "json -8.0%" in alert.message
    assert "prose" not in alert.message
    assert "alert raised" in caplog.text

    off_by(0, 50, at=NOON + timedelta(hours=1))
    for seconds in (7200, 7230):
        check(seconds)
    alert.refresh_from_db()
    assert alert.state == "normal"
    assert alert.message == "Our counts of Claude's tokens are within 5% of the full counts."


@pytest.mark.django_db
def test_a_few_odd_texts_are_no_drift():
    only("token_drift")
    off_by(0, 11)
    off_by(60, 9)
    check(0)
    assert not Alert.objects.exists()


@pytest.mark.django_db
def test_the_task_checks_for_drift():
    off_by(10, 20)
    tasks.check_alerts()
    assert Alert.objects.open().get().rule.kind == "token_drift"


# -- Retention, page, migration ---------------------------------------------------------------------


@pytest.mark.django_db
def test_audits_are_forgotten_after_the_retention(settings):
    settings.TELEMETRY_RETENTION_DAYS = 30
    old, kept = NOON - timedelta(days=30, seconds=1), NOON - timedelta(days=30)
    stored(*[an_audit(at=old)] * 4, an_audit(at=kept))
    assert retention.purge_old_audits(now=NOON, batch=3) == 4
    assert TokenAudit.objects.get().at == kept


@pytest.mark.django_db
def test_the_page_shows_the_classes_and_follows_the_filter(admin_client):
    stored(an_audit(), an_audit(text_class="cjk", formula_tokens=500, claude_tokens=800))
    html = admin_client.get(PAGE).content.decode()
    rows = re.findall(r'<tr><th scope="row">(\w+)</th>(.*?)</tr>', html)
    assert [name for name, _ in rows] == ["cjk", "json", "all"]
    assert "<td>50.0%</td><td>×\u00a01.37</td><td>50.0%</td><td>0.900</td>" in rows[2][1]
    filtered = admin_client.get(f"{PAGE}?text_class=json").content.decode()
    assert [name for name, _ in re.findall(r'<tr><th scope="row">(\w+)</th>(.*?)</tr>', filtered)] == ["json", "all"]
    assert "style=" not in filtered
    detail = admin_client.get(f"{PAGE}{TokenAudit.objects.first().pk}/change/")
    assert "−20.0%" in detail.content.decode()


@pytest.mark.django_db
def test_the_page_has_words_for_no_audits_and_calls_lead_to_it(admin_client):
    assert "No audits yet" in admin_client.get(PAGE).content.decode()
    for page in ("/admin/telemetry/telemetryrecord/", "/admin/"):
        assert f'href="{PAGE}"' in admin_client.get(page).content.decode()


@pytest.mark.django_db
def test_nobody_changes_an_audit_by_hand(admin_client):
    stored(an_audit())
    pk = TokenAudit.objects.get().pk
    assert admin_client.get(f"{PAGE}add/").status_code == 403
    assert admin_client.post(f"{PAGE}{pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_calls_of_before_get_their_original_as_baseline():
    executor = MigrationExecutor(connection)
    former = executor.migrate([("telemetry", "0001_initial")]).apps.get_model("telemetry", "TelemetryRecord")
    texts = dict.fromkeys(("operation", "endpoint", "door", "caller", "outcome"), "x")
    numbers = dict.fromkeys(("latency_ms", "response_bytes", "item_count", "claude_tokens", "threshold"), 0)
    flags = dict.fromkeys(("oversized", "pagination_used", "summarization_used", "chunking_used"), False)
    tokens = [(900, 6000, 5100), (90, 10, 0), (0, 0, 0)]
    for estimated, original, saved in tokens:
        figures = {"estimated_tokens": estimated, "original_tokens": original, "saved_tokens": saved}
        former.objects.create(request_id="a", created_at=NOON, **texts, **numbers, **flags, **figures)
    try:
        executor = MigrationExecutor(connection)
        now = executor.migrate([("telemetry", "0002_baseline_and_audits")]).apps.get_model(
            "telemetry", "TelemetryRecord"
        )
        rows = now.objects.order_by("pk").values_list("baseline_tokens", "saved_tokens")
        assert list(rows) == [(6000, 5100), (10, -80), (0, 0)]
        MigrationExecutor(connection).migrate([("telemetry", "0001_initial")])
        assert list(former.objects.order_by("pk").values_list("saved_tokens", flat=True)) == [5100, 0, 0]
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes("telemetry"))
