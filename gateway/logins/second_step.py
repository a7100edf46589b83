"""Between the password and the second factor: nobody is logged in yet, and the session knows who is about to be."""

import time
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from gateway.logins import second_factor
from gateway.logins.models import SecondFactor

WAITING = "waiting_for_second_factor"
PATIENCE_SECONDS = 10 * 60


@dataclass(frozen=True)
class Waiting:
    user: Any
    factor: SecondFactor
    next: str  # where the login leads, on this host


def begin(request: HttpRequest, user: Any, next_address: str) -> None:
    """In a session of its own: nothing of what was before the password goes with it."""
    request.session.flush()
    request.session[WAITING] = {
        "user": str(user.pk),
        "hash": user.get_session_auth_hash(),  # another password ends it
        "until": int(time.time()) + PATIENCE_SECONDS,
        "next": next_address,
    }


def waiting(request: HttpRequest) -> Waiting | None:
    kept = request.session.get(WAITING)
    if kept is None or kept["until"] < time.time():
        return None
    user = get_user_model()._default_manager.filter(pk=kept["user"], is_active=True).first()
    if user is None or not constant_time_compare(kept["hash"], user.get_session_auth_hash()):
        return None
    factor = second_factor.of(user)
    return None if factor is None else Waiting(user, factor, kept["next"])


def end(request: HttpRequest) -> None:
    request.session.pop(WAITING, None)
