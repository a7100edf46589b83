"""How a name and a password become a user: Django's way, with guesses counted first."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gateway.logins import throttle


class ThrottledBackend(ModelBackend):
    """Whatever calls `django.contrib.auth.authenticate` with a request is counted here. Raises LockedOut."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> Any:
        if request is None or username is None or password is None:
            return super().authenticate(request, username, password, **more)
        attempt = throttle.begin(username, request)
        user = super().authenticate(request, username, password, **more)
        if user is None:
            attempt.failed()
        else:
            attempt.succeeded()
        return user
