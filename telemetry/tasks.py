"""Celery tasks; the schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from datetime import UTC, datetime

from celery import shared_task

from telemetry import alerts, drift, partitions, retention
from telemetry.rollups.building import build_stale


@shared_task(name="telemetry.tasks.check_alerts")
def check_alerts() -> None:
    alerts.check()
    drift.check()


@shared_task(name="telemetry.tasks.purge_old_calls")
def purge_old_calls() -> None:
    retention.purge_old_calls()
    retention.purge_old_rollups()
    retention.purge_old_audits()
    retention.purge_old_arguments()
    retention.purge_old_rejected_keys()
    retention.purge_old_withheld()


@shared_task(name="telemetry.tasks.build_rollups")
def build_rollups() -> None:
    build_stale()


@shared_task(name="telemetry.tasks.ensure_partitions")
def ensure_partitions() -> None:
    partitions.ensure(datetime.now(UTC).date())
