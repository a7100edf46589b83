"""One at a time, of all workers: a row says who, and until when. Times are the database's, which all agree on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from django.db.models import Q
from django.db.models.functions import Now

from gateway.connectors.hostaway.models import Lease

LASTS = timedelta(minutes=3)  # longer than one call of upstream's with all its attempts


class LeaseLost(Exception):
    """It was not renewed in time, and another has it."""


@dataclass(frozen=True)
class Held:
    name: str
    holder: str

    def renew(self) -> None:
        """Inside a transaction: what it writes is written by the holder. Raises LeaseLost."""
        if not Lease.objects.filter(name=self.name, holder=self.holder).update(until=Now() + LASTS):
            raise LeaseLost(self.name)


@contextmanager
def held(name: str) -> Iterator[Held | None]:
    """None: another has it. It is free again afterwards, or, after a kill, once it has expired."""
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
