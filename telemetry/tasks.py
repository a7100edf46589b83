"""Celery tasks; the schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from celery import shared_task

from telemetry import alerts, drift, retention


@shared_task(name="telemetry.tasks.check_alerts")
def check_alerts() -> None:
    alerts.check()
    drift.check()


@shared_task(name="telemetry.tasks.purge_old_calls")
def purge_old_calls() -> None:
    retention.purge_old_calls()
    retention.purge_old_audits()
    retention.purge_old_rejected_keys()
    retention.purge_old_withheld()
