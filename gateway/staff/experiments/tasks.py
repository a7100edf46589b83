"""Celery tasks; their schedule is in the settings (CELERY_BEAT_SCHEDULE)."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from gateway.staff.experiments.models import ShadowSize


@shared_task(name="gateway.experiments.tasks.purge_old_shadow_sizes")
def purge_old_shadow_sizes() -> None:
    """The sizes of shadow mode are stored as long as calls are."""
    kept = timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    ShadowSize.objects.filter(at__lt=timezone.now() - kept).delete()
