"""Signal receivers for every login and logout."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from gateway.logins import events, sessions, throttle


@receiver(user_logged_in)
def logged_in(request: HttpRequest, user: Any, **more: Any) -> None:
    throttle.forget(user.get_username(), request)
    sessions.begin(request.session)
    events.note(events.SecurityEventKind.LOGIN, user, request)


@receiver(user_logged_out)
def logged_out(request: HttpRequest, user: Any, **more: Any) -> None:
    if user is not None:
        events.note(events.SecurityEventKind.LOGOUT, user, request)
