"""Access to telemetry and configuration over REST: for logged-in staff with the permission, and for keys that are
marked for it."""

from typing import Any, ClassVar

from django.contrib import admin
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from context_protection.core.errors import NotAllowed
from telemetry.access import SEE_CALLS, who_may

SEE_BUDGETS = "context_protection.view_tokenbudget"


class StaffSession(BaseAuthentication):
    """Authenticates by the browser's login, unless the request carries a key. These addresses change nothing, so they
    need no CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        if request.headers.get("Authorization") or not admin.site.has_permission(request._request):
            return None
        return request._request.user, None


class MayRead(BasePermission):
    """A key needs the mark `may_read_<what>`, a member of staff the permission `needed`."""

    what: ClassVar[str]
    needed: ClassVar[str]

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises NotAllowed, which says what is missing."""
        if getattr(request.user, f"may_read_{self.what}", False):
            return True
        if hasattr(request.user, "has_perm"):
            if request.user.has_perm(self.needed):
                return True
            missing = who_may(self.needed)
        else:
            missing = f"Use another key, or tick “May read {self.what}” for this one (Admin, API keys)."
        reason = f"{self.what}_not_allowed"
        raise NotAllowed(f"This caller may not read {self.what}.", reason=reason, suggestion=missing)


class MayReadTelemetry(MayRead):
    what, needed = "telemetry", SEE_CALLS


class MayReadConfiguration(MayRead):
    what, needed = "configuration", SEE_BUDGETS
