"""Access to telemetry over REST: for staff who are logged in, with the permission, and for keys that are marked for
it."""

from typing import Any

from django.contrib import admin
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from context_protection.core.errors import NotAllowed
from telemetry.access import SEE_CALLS, who_may


class StaffSession(BaseAuthentication):
    """A login of the browser, unless the request carries a key. It only reads, so it needs no CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        if request.headers.get("Authorization") or not admin.site.has_permission(request._request):
            return None
        return request._request.user, None


class MayReadTelemetry(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises NotAllowed, which says what is missing."""
        if getattr(request.user, "may_read_telemetry", False):
            return True
        if hasattr(request.user, "has_perm"):
            if request.user.has_perm(SEE_CALLS):
                return True
            missing = who_may(SEE_CALLS)
        else:
            missing = "Use another key, or tick “May read telemetry” at this one (Admin, API keys)."
        raise NotAllowed("This caller may not read telemetry.", reason="telemetry_not_allowed", suggestion=missing)
