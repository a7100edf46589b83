"""Security events: each is written to the log and to the audit trail."""

import logging
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from gateway.access.addresses import address_of
from gateway.logins.models import SecurityEvent

SecurityEventKind = SecurityEvent.SecurityEventKind
RETENTION = timedelta(days=365)
MAX_FAILED = 100_000  # stored failed logins: an attack makes three per second; other events are rare
ALARMING = {SecurityEventKind.LOGIN_FAILED, SecurityEventKind.LOCKED_OUT}

logger = logging.getLogger(__name__)


def note(kind: SecurityEvent.SecurityEventKind, user: Any, request: HttpRequest | None = None, by: str = "") -> None:
    """`user` is None if no user has the typed name, which is then not stored, because it may be a password."""
    name = user.get_username() if user is not None else ""
    address = address_of(request) if request is not None else ""
    SecurityEvent.objects.create(kind=kind, user=user, name=name, address=address, by=by)
    level = logging.WARNING if kind in ALARMING else logging.INFO
    logger.log(level, kind.value, extra={"user": name or None, "address": address or None, "by": by or None})


def purge() -> None:
    SecurityEvent.objects.filter(at__lt=timezone.now() - RETENTION).delete()
    failed = SecurityEvent.objects.filter(kind=SecurityEventKind.LOGIN_FAILED)
    beyond = failed.order_by("-pk").values_list("pk", flat=True)[MAX_FAILED : MAX_FAILED + 1].first()
    if beyond is not None:
        failed.filter(pk__lte=beyond).delete()
