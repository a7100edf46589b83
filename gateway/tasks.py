"""Celery tasks of the gateway itself; their schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from celery import shared_task

from gateway import upstream_probes


@shared_task(name="gateway.tasks.probe_quiet_upstreams")
def probe_quiet_upstreams() -> None:
    upstream_probes.probe_quiet_upstreams()
