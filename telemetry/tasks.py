"""Celery tasks; the schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from datetime import UTC, datetime

from celery import shared_task

from telemetry import partitions, retention
from telemetry.alerts import evaluation, notifications
from telemetry.rollups.builder import build_stale


@shared_task(name="telemetry.tasks.check_alerts")
def check_alerts() -> None:
    evaluation.check_alerts()


@shared_task(name="telemetry.tasks.deliver_notification")
def deliver_notification(pk: int) -> None:
    notifications.deliver(pk)


@shared_task(name="telemetry.tasks.purge_old_calls")
def purge_old_calls() -> None:
    retention.purge_old_calls()
    retention.purge_old_rollups()
    retention.purge_old_audits()
    retention.purge_old_arguments()
    retention.purge_old_rejected_keys()
    retention.purge_old_withheld()
    retention.purge_old_alerts()


@shared_task(name="telemetry.tasks.build_rollups")
def build_rollups() -> None:
    build_stale()


@shared_task(name="telemetry.tasks.ensure_partitions")
def ensure_partitions() -> None:
    partitions.ensure(datetime.now(UTC).date())
