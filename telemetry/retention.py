"""Deletes calls, rollups, audits, rejected keys, counts of redacted fields and alerts after their retention period."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Manager, Q
from django.utils import timezone

from telemetry import partitions
from telemetry.models import (
    Alert,
    CallArguments,
    RejectedKey,
    Rollup,
    TelemetryRecord,
    TokenAudit,
    WithheldField,
)
from telemetry.rollups.coverage import kept_for

ALERTS_KEPT = timedelta(days=400)  # after their end; alerts that never fired are stored only as long as calls
BATCH = 5_000  # rows per transaction: few, so that the writer of calls never waits long

logger = logging.getLogger(__name__)


def purge_old_calls(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Deletes calls older than TELEMETRY_RETENTION_DAYS, a batch per transaction; returns how many. On Postgres, whole
    days are dropped first; the returned number does not include their calls."""
    now = now or timezone.now()
    partitions.drop_before(now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS))
    return _purge(TelemetryRecord.objects, "created_at", now, batch)


def purge_old_rollups(*, now: datetime | None = None) -> int:
    """Deletes the rollups of minutes and hours after their retention periods; those of days are kept. Returns how
    many."""
    now = now or timezone.now()
    return sum(
        Rollup.objects.filter(level=level, start__lt=now - kept).delete()[0] for level, kept in kept_for().items()
    )


def purge_old_audits(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Deletes token audits older than TELEMETRY_RETENTION_DAYS, as `purge_old_calls` deletes calls."""
    return _purge(TokenAudit.objects, "at", now or timezone.now(), batch)


def purge_old_rejected_keys(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Deletes rejected keys older than TELEMETRY_RETENTION_DAYS, as `purge_old_calls` deletes calls."""
    return _purge(RejectedKey.objects, "minute", now or timezone.now(), batch)


def purge_old_withheld(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Deletes counts of redacted fields older than TELEMETRY_RETENTION_DAYS, as `purge_old_calls` deletes calls."""
    return _purge(WithheldField.objects, "day", now or timezone.now(), batch)


def purge_old_alerts(*, now: datetime | None = None) -> int:
    """Deletes alerts that ended long ago, with their history. Returns how many rows."""
    now = now or timezone.now()
    ended = Alert.objects.exclude(ended_at=None)
    short, long = now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS), now - ALERTS_KEPT
    return ended.filter(Q(ended_at__lt=long) | Q(ended_at__lt=short, fired_at=None)).delete()[0]


def purge_old_arguments(*, now: datetime | None = None) -> int:
    """Deletes expired arguments (TELEMETRY_ARGUMENT_DAYS); returns how many."""
    total, _ = CallArguments.objects.filter(expires_at__lte=now or timezone.now()).delete()
    return total


def _purge(rows: Manager[Any], time: str, now: datetime, batch: int) -> int:
    limit = now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    expired = rows.filter(**{f"{time}__lt": limit}).order_by(time)
    total = 0
    while deleted := rows.filter(pk__in=expired.values("pk")[:batch]).delete()[0]:
        total += deleted
    if total:
        kind = str(rows.model._meta.verbose_name_plural)
        logger.info("old %s purged", kind, extra={"rows": total, "older_than": limit.isoformat()})
    return total
