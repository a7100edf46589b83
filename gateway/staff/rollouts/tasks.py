"""Celery tasks; their schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from celery import shared_task

from gateway.staff.rollouts import evaluation


@shared_task(name="gateway.rollouts.tasks.check_rollouts")
def check_rollouts() -> None:
    evaluation.check_rollouts()
