"""Counts login attempts by name and address. After five failures within 15 minutes, further attempts are rejected
unchecked.

An attempt is recorded as a failure before the password is hashed, and the record is removed on success. So parallel
attempts, in any number of processes, cannot exceed five either. A name locked at one address is not locked at others.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from context_protection.core.errors import INVALID_REQUEST, CallError
from gateway.access.addresses import address_of, network_of
from gateway.logins import events
from gateway.logins.models import LoginFailures, known_user

MAX_FAILURES = 5
WINDOW_SECONDS = 15 * 60
SALT = "gateway.logins.throttle"


class LockedOut(CallError):
    code = INVALID_REQUEST
    status = 429


@dataclass(frozen=True)
class Attempt:
    """A password or a code that is about to be checked."""

    name: str
    request: HttpRequest
    at: float
    is_last: bool  # its failure locks the name at this address

    def failed(self, kind: events.SecurityEventKind = events.SecurityEventKind.LOGIN_FAILED) -> None:
        user = known_user(self.name)
        events.note(kind, user, self.request)
        if self.is_last:
            events.note(events.SecurityEventKind.LOCKED_OUT, user, self.request)

    def succeeded(self) -> None:
        """Removes the record of this attempt. Earlier failures remain until `forget`."""
        with transaction.atomic():
            row = _rows(self.name, self.request).select_for_update().first()
            if row is not None and self.at in row.times:
                row.times.remove(self.at)
                row.save(update_fields=["times"])


def begin(name: str, request: HttpRequest, clock: Callable[[], float] = time.time) -> Attempt:
    """Records an attempt, which the caller ends with `failed` or `succeeded`; without either it counts as failed.
    Raises LockedOut."""
    now = clock()
    seen = _rows(name, request).values_list("times", flat=True).first()
    _reject_if_locked(_recent(seen or [], now), now)  # no lock, no write: most attempts of an attack end here
    with transaction.atomic():
        row, _ = LoginFailures.objects.select_for_update().get_or_create(
            name_digest=digest(name), address=network_of(address_of(request))
        )
        times = _recent(row.times, now)
        _reject_if_locked(times, now)
        row.times, row.last_at = [*times, now], timezone.now()
        row.save(update_fields=["times", "last_at"])
    return Attempt(name, request, now, is_last=len(times) + 1 == MAX_FAILURES)


def forget(name: str, request: HttpRequest) -> None:
    """Clears the failures of the name at this address, after a complete login."""
    _rows(name, request).delete()


def unlock(name: str, address: str = "") -> int:
    """Clears the failures of a name, at one address or at all addresses. Returns how many addresses had failures."""
    rows = LoginFailures.objects.filter(name_digest=digest(name))
    if address:
        rows = rows.filter(address=network_of(address))
    deleted, _ = rows.delete()
    return deleted


def purge() -> None:
    LoginFailures.objects.filter(last_at__lt=timezone.now() - timedelta(seconds=WINDOW_SECONDS)).delete()


def digest(name: str) -> str:
    """A keyed hash, so that the database alone does not suffice to reverse it."""
    return salted_hmac(SALT, name, algorithm="sha256").hexdigest()


def _rows(name: str, request: HttpRequest) -> "QuerySet[LoginFailures]":
    return LoginFailures.objects.filter(name_digest=digest(name), address=network_of(address_of(request)))


def _recent(times: list[float], now: float) -> list[float]:
    return [each for each in times if each > now - WINDOW_SECONDS]


def _reject_if_locked(times: list[float], now: float) -> None:
    if len(times) >= MAX_FAILURES:
        raise locked_out(math.ceil(times[-MAX_FAILURES] + WINDOW_SECONDS - now))


def locked_out(seconds: int) -> LockedOut:
    minutes = math.ceil(seconds / 60)
    return LockedOut(
        "Too many logins with this name have failed from this address.",
        reason="locked_out",
        expected=f"at most {MAX_FAILURES} failed logins within {WINDOW_SECONDS // 60} minutes",
        suggestion=f"Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}, or ask an operator to unlock "
        "the name.",
        retry_after=max(1, seconds),
    )
