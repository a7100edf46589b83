"""Calls are partitioned by day on Postgres: they move there and back without loss, and whole days are dropped."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from telemetry import partitions, retention
from telemetry.models import TelemetryRecord
from tests.telemetry.examples import NOON, calls_of_all_sorts, stored

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
BEFORE, LATEST = "0007_whole_calls", None
LATER = {"waits"}
DAY = date(2020, 2, 28)


def migrate(name: str | None) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate([("telemetry", name)] if name else executor.loader.graph.leaf_nodes("telemetry"))


def rows() -> list[tuple]:
    """Of the columns that the table has had since BEFORE."""
    columns = [field.name for field in TelemetryRecord._meta.concrete_fields if field.name not in LATER]
    return list(TelemetryRecord.objects.order_by("pk").values_list(*columns))


def partitions_of_rows() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text, COUNT(*) FROM telemetry_telemetryrecord GROUP BY 1")
        return {name.removeprefix(f"{partitions.TABLE}_"): count for name, count in cursor.fetchall()}


def test_calls_move_to_partitions_and_back_without_loss_any_number_of_times():
    stored(*calls_of_all_sorts(50, span=timedelta(days=3)))
    before = rows()
    try:
        for _ in range(2):  # on one connection, on which temporary functions stay
            migrate(BEFORE)
            assert rows() == before
            migrate(LATEST)
            assert rows() == before
    finally:
        migrate(LATEST)
    assert len(partitions_of_rows()) >= 3
    stored(*calls_of_all_sorts(1))  # its id is a new one
    assert TelemetryRecord.objects.count() == 51


def test_calls_of_before_get_the_figures_that_they_would_have_been_stored_with():
    stored(*calls_of_all_sorts(50))
    computed = ("latency_bucket", "claude_original_tokens", "claude_saved_tokens")
    calls = TelemetryRecord.objects.order_by("pk")
    written = list(calls.values_list(*computed))
    try:
        migrate(BEFORE)
        calls.update(**dict.fromkeys(computed, 0), origin="")
        migrate(LATEST)
    finally:
        migrate(LATEST)
    for found, expected in zip(calls.values_list(*computed), written, strict=True):
        assert found == pytest.approx(expected, abs=1)  # halves are rounded in another way
    assert {(call.outcome, call.error_reason, call.origin) for call in calls if call.outcome == "error"} == {
        ("error", "upstream_timeout", "upstream"),
        ("error", "not_found", "caller"),
    }


def test_a_day_without_a_partition_is_stored_and_moves_when_it_gets_one():
    noon = datetime(2020, 2, 28, 12, tzinfo=UTC)
    stored(*[call._replace(at=noon) for call in calls_of_all_sorts(3)])
    before = rows()
    assert partitions_of_rows() == {"default": 3}
    for _ in range(2):
        partitions.ensure(DAY, ahead=2)
    assert {DAY, DAY + timedelta(days=1), DAY + timedelta(days=2)} <= set(partitions.days())
    assert partitions_of_rows() == {"20200228": 3}
    assert rows() == before


def test_days_that_ended_before_the_retention_are_dropped_whole(settings):
    settings.TELEMETRY_RETENTION_DAYS = 30
    partitions.ensure(DAY, ahead=1)
    noon = datetime(2020, 2, 28, 12, tzinfo=UTC)
    stored(*[call._replace(at=noon) for call in calls_of_all_sorts(3)], *calls_of_all_sorts(2, span=timedelta(hours=1)))
    retention.purge_old_calls(now=NOON)
    assert TelemetryRecord.objects.count() == 2
    assert not {DAY, DAY + timedelta(days=1)} & set(partitions.days())
    assert partitions.drop_before(NOON - timedelta(days=30)) == 0
