"""Alerts of before there were rules get the shipped rule of their kind."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from telemetry.models.alerts import Alert, AlertRule
from tests.telemetry.examples import NOON

BEFORE = [("telemetry", "0009_saved_views")]


@pytest.mark.django_db(transaction=True)
def test_older_alerts_keep_what_they_knew_and_can_go_back():
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes("telemetry")
    executor.migrate(BEFORE)
    try:
        former = executor.loader.project_state(BEFORE).apps.get_model("telemetry", "Alert")
        figures = {
            "peak_share": 0.2,
            "threshold_share": 0.05,
            "calls": 100,
            "oversized_calls": 6,
            "message": "6 of 100",
        }
        former.objects.create(kind="oversized_share", state="open", opened_at=NOON, share=0.06, **figures)
        former.objects.create(
            kind="token_drift",
            state="cleared",
            opened_at=NOON,
            cleared_at=NOON + timedelta(hours=1),
            share=0.08,
            **figures,
        )
        _migrate(newest)

        is_open, is_over = Alert.objects.order_by("ended_at").select_related("rule")
        if is_open.ended_at:
            is_open, is_over = is_over, is_open
        assert (is_open.rule.kind, is_open.state, is_open.fired_at, is_open.ended_at) == (
            "oversized_share",
            "alerting",
            NOON,
            None,
        )
        assert (is_open.value, is_open.peak, is_open.limit, is_open.sample, is_open.affected) == (
            0.06,
            0.2,
            0.05,
            100,
            6,
        )
        assert (is_over.rule.kind, is_over.state, is_over.since) == ("token_drift", "normal", NOON + timedelta(hours=1))
        assert [each.after for each in is_over.transitions.all()] == ["alerting", "normal"]
        assert list(AlertRule.objects.get(shipped_as="oversized_share").channels.values_list("name", flat=True)) == [
            "Operators"
        ]

        _migrate(BEFORE)
        rows = former.objects.order_by("kind").values_list("kind", "state", "opened_at", "share", "calls")
        assert list(rows) == [("oversized_share", "open", NOON, 0.06, 100), ("token_drift", "cleared", NOON, 0.08, 100)]
    finally:
        _migrate(newest)
        Alert.objects.all().delete()
        call_command("migrate", verbosity=0)


def _migrate(targets):
    MigrationExecutor(connection).migrate(targets)
