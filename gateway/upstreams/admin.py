"""The admin of upstream APIs, and a base for other models with a credential. Everything can be changed; a secret cannot
be read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.timezone import localdate
from django.views.decorators.debug import sensitive_post_parameters

from context_protection.history import HistoryAdmin
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.forms import UpstreamApiForm
from gateway.upstreams.models import UpstreamApi, WithCredential
from gateway.upstreams.secrets import ending, vault

unreported = method_decorator(sensitive_post_parameters("secret"))  # keeps the secret out of error reports


AUTHENTICATION = (
    "Authentication",
    {
        "fields": (
            "authentication",
            "parameter_name",
            "user_name",
            "client_id",
            "token_url",
            "scope",
            "audience",
            "client_place",
            "secret_state",
            "secret",
            "remove_secret",
        ),
        "description": "Sent to its address and, for OAuth 2.0, to the token address; nowhere else.",
    },
)


class CredentialAdmin(HistoryAdmin):
    """Base for the admin of a `WithCredential` model. Needs a `CredentialForm`, and fieldsets with AUTHENTICATION."""

    readonly_fields: tuple[str, ...] = ("secret_state",)

    class Media:
        js = ("upstreams/authentication.js",)

    def get_fieldsets(self, request: HttpRequest, obj: WithCredential | None = None) -> Any:
        """Leaves out the secret's inputs for read-only users, and the removal if no secret is stored."""
        may_change = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        left_out = set() if may_change else {"secret", "remove_secret"}
        if _stored(obj) is None:
            left_out.add("remove_secret")
        return [_without(left_out, *fieldset) for fieldset in super().get_fieldsets(request, obj)]

    @admin.display(description="Stored secret")
    def secret_state(self, row: WithCredential) -> str:
        stored = _stored(row)
        if stored is None:
            return "not set"
        changed = f"changed {localdate(stored.secret_changed_at)}" if stored.secret_changed_at else "set long ago"
        try:
            last = ending(vault().open(stored.sealed_secret, upstream=stored.name))
        except UpstreamError:
            return f"set · cannot be opened, its key is gone: enter it again · {changed}"
        return " · ".join(["set", *([f"ends in …{last}"] if last else []), changed])

    @unreported
    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().changeform_view(*args, **kwargs)
        return response

    @unreported
    def history_form_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().history_form_view(*args, **kwargs)
        return response

    def save_model(
        self, request: HttpRequest, obj: WithCredential, form: ModelForm[WithCredential], change: bool
    ) -> None:
        if obj.sealed_secret and any(part.startswith("http://") for part in obj.connection().secret_goes_to):
            messages.warning(request, f"The secret of {obj.name} travels unencrypted: its address begins with http://.")
        super().save_model(request, obj, form, change)


@admin.register(UpstreamApi)
class UpstreamApiAdmin(CredentialAdmin):
    form = UpstreamApiForm
    list_display = ("name", "base_url", "authentication", "enabled")
    search_fields = ("name", "base_url")
    fieldsets = (
        (None, {"fields": ("name", "base_url", "enabled")}),
        AUTHENTICATION,
        (
            "Limits of a call",
            {"fields": ("connect_seconds", "read_seconds", "total_seconds", "most_megabytes", "attempts")},
        ),
        ("Rate", {"fields": ("rate_calls", "rate_seconds"), "description": "For all processes together."}),
        ("Kept answers", {"fields": ("keep_seconds",)}),
    )


def _stored(row: WithCredential | None) -> WithCredential | None:
    """The row with its stored secret, even while a rejected form with a new one is shown."""
    return type(row)._default_manager.filter(pk=row.pk).exclude(sealed_secret="").first() if row else None


def _without(left_out: set[str], title: str | None, options: Any) -> tuple[str | None, Any]:
    return title, {**options, "fields": [name for name in options["fields"] if name not in left_out]}
