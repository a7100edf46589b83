"""The login state between password and second factor: the session stores the user, who is not logged in yet."""

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
    next: str  # URL on this host to redirect to after the login


def begin(request: HttpRequest, user: Any, next_address: str) -> None:
    """Starts a new session, so that no data from before the password check carries over."""
    request.session.flush()
    request.session[WAITING] = {
        "user": str(user.pk),
        "hash": user.get_session_auth_hash(),  # a changed password ends the second step
        "until": int(time.time()) + PATIENCE_SECONDS,
        "next": next_address,
    }


def waiting(request: HttpRequest) -> Waiting | None:
    stored = request.session.get(WAITING)
    if stored is None or stored["until"] < time.time():
        return None
    user = get_user_model()._default_manager.filter(pk=stored["user"], is_active=True).first()
    if user is None or not constant_time_compare(stored["hash"], user.get_session_auth_hash()):
        return None
    factor = second_factor.of(user)
    return None if factor is None else Waiting(user, factor, stored["next"])


def end(request: HttpRequest) -> None:
    request.session.pop(WAITING, None)
