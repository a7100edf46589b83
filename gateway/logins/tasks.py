"""Celery tasks; their schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from celery import shared_task

from gateway.logins import events, throttle


@shared_task(name="gateway.logins.tasks.purge")
def purge() -> None:
    throttle.purge()
    events.purge()
