"""Mutual exclusion across all workers: each lease is a row with its holder and expiry. Times come from the database, so
that the workers' clocks do not matter."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from django.db.models import Q
from django.db.models.functions import Now

from gateway.connectors.hostaway.models import Lease

LASTS = timedelta(minutes=3)  # longer than one call to upstream with all its retries


class LeaseLost(Exception):
    """The lease was not renewed in time, and another worker may hold it."""


@dataclass(frozen=True)
class Held:
    name: str
    holder: str

    def renew(self) -> None:
        """Extends the lease. Inside a transaction, this ensures that only the holder's writes are committed. Raises
        LeaseLost."""
        if not Lease.objects.filter(name=self.name, holder=self.holder).update(until=Now() + LASTS):
            raise LeaseLost(self.name)


@contextmanager
def held(name: str) -> Iterator[Held | None]:
    """Yields None if another worker holds the lease. The lease is released on exit; if the worker is killed, it
    expires."""
    lease = Held(name, uuid4().hex)
    Lease.objects.get_or_create(name=name, defaults={"until": Now()})
    free = Lease.objects.filter(Q(holder="") | Q(until__lt=Now()), name=name)
    if not free.update(holder=lease.holder, until=Now() + LASTS):
        yield None
        return
    try:
        yield lease
    finally:
        Lease.objects.filter(name=name, holder=lease.holder).update(holder="")
