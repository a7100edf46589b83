"""Authentication by user name and password: Django's backend with throttling."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gateway.logins import throttle


class ThrottledBackend(ModelBackend):
    """Throttles every call of `django.contrib.auth.authenticate` that passes a request. Raises LockedOut."""

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
