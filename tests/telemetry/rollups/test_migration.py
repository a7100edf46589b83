"""Rollups by tool and client exist for calls of before there were any."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from telemetry import queries
from telemetry.call_figures import GroupFigures
from telemetry.models import Rollup, StaleBucket
from telemetry.models.rollups import Level
from telemetry.queries import Span
from telemetry.rollups.builder import build_stale
from tests.telemetry.examples import NOON, calls_of_all_sorts, stored

BEFORE = [("telemetry", "0019_rollout_alerts")]
CALLS = 100
LATER = NOON + timedelta(days=2)


@pytest.mark.django_db(transaction=True)
def test_days_are_known_at_once_and_hours_are_built_anew():
    stored(*calls_of_all_sorts(CALLS, span=timedelta(hours=30)))
    build_stale(now=LATER)
    span = Span.of(NOON - timedelta(days=3), LATER)
    before = _groups(span)
    assert len(before) > 1
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes("telemetry")
    MigrationExecutor(connection).migrate(BEFORE)
    try:
        assert not Rollup.objects.filter(scope="client").exists()
    finally:
        MigrationExecutor(connection).migrate(newest)
    assert _calls(Level.DAY) == CALLS
    assert _groups(span) == before
    build_stale(now=LATER)
    assert _calls(Level.HOUR) == _calls(Level.DAY) == CALLS
    assert not StaleBucket.objects.exists()
    assert _groups(span) == before


def _groups(span: Span) -> Sequence[GroupFigures]:
    """Without times, whose sums differ in their last digits, but with percentiles."""
    return queries.groups(span, by=("tool", "client"), wanted=queries.TABLES)


def _calls(level: Level) -> int:
    return sum(Rollup.objects.filter(level=level, scope="client").values_list("calls", flat=True))
