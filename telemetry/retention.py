"""Forgets calls after the retention."""

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from telemetry.models import TelemetryRecord

BATCH = 5_000  # rows: short transactions, so that the writer of calls never waits long

logger = logging.getLogger(__name__)


def purge_old_calls(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Deletes calls older than TELEMETRY_RETENTION_DAYS, a batch per transaction; returns how many."""
    limit = (now or timezone.now()) - timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    expired = TelemetryRecord.objects.filter(created_at__lt=limit).order_by("created_at")
    total = 0
    while deleted := TelemetryRecord.objects.filter(pk__in=expired.values("pk")[:batch]).delete()[0]:
        total += deleted
    if total:
        logger.info("old calls purged", extra={"calls": total, "older_than": limit.isoformat()})
    return total
