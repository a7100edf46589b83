"""Bases for the admin and the form of models with a credential. A secret is never shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.timezone import localdate
from django.views.decorators.debug import sensitive_post_parameters

from context_protection.history import HistoryAdmin
from gateway.upstreams.auth.vault import ending, vault
from gateway.upstreams.connections import (
    FIELDS_OF_KIND,
    KIND_FIELDS,
    LONGEST_SECRET,
    AuthKind,
    secret_problem,
)
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.models import WithCredential

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


class CredentialForm(forms.ModelForm):  # type: ignore[type-arg]
    """Base for the form of a `WithCredential` model."""

    secret = forms.CharField(
        required=False,
        max_length=LONGEST_SECRET,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text="The API key, token, password or client secret. Stored encrypted, and shown to nobody. Empty: the "
        "stored one stays.",
    )
    remove_secret = forms.BooleanField(
        required=False,
        label="Remove the stored secret",
        help_text="This cannot be undone. Without a secret, “Enabled” has to be off.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, kinds in _shown_for().items():
            if name in self.fields:
                self.fields[name].widget.attrs["data-shown-for"] = " ".join(kinds)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        secret, removes = cleaned.get("secret"), cleaned.get("remove_secret")
        if secret and removes:
            self.add_error("remove_secret", "Enter a new secret or remove the stored one, not both.")
        elif removes:
            self.instance.remove_secret()
        elif secret and "authentication" in cleaned:
            kind, user_name = AuthKind(cleaned["authentication"]), cleaned.get("user_name", "")
            if problem := secret_problem(kind, user_name, secret):
                self.add_error("secret", problem)
            else:
                self.instance.set_secret(secret)
        return cleaned


def _shown_for() -> dict[str, list[str]]:
    """Field → the kinds of authentication that need it. A script hides the field for all other kinds."""
    with_secret = [kind.value for kind in AuthKind if kind is not AuthKind.NONE]
    shown = {name: [kind.value for kind, names in FIELDS_OF_KIND.items() if name in names] for name in KIND_FIELDS}
    return {**shown, "secret": with_secret, "remove_secret": with_secret}


SECRET_INPUTS = ("secret", "remove_secret")
CHANGE_CREDENTIALS = "upstreams.change_credentials"


class CredentialAdmin(HistoryAdmin):
    """Base for the admin of a `WithCredential` model. Needs a `CredentialForm`, and fieldsets with AUTHENTICATION.

    Credentials have a permission of their own: not everyone who may change a connection may set its secret."""

    readonly_fields: tuple[str, ...] = ("secret_state",)

    class Media:
        js = ("upstreams/authentication.js",)

    def get_fieldsets(self, request: HttpRequest, obj: WithCredential | None = None) -> Any:
        """Omits the secret's inputs for users who may not change them, and the removal if no secret is stored."""
        left_out = set() if self._may_change_credentials(request, obj) else set(SECRET_INPUTS)
        if _stored(obj) is None:
            left_out.add("remove_secret")
        return [_without(left_out, *fieldset) for fieldset in super().get_fieldsets(request, obj)]

    def get_readonly_fields(self, request: HttpRequest, obj: WithCredential | None = None) -> tuple[str, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        if self._may_change_credentials(request, obj):
            return fields
        return (*fields, "authentication", *sorted(KIND_FIELDS))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Omits the secret's inputs for users who may not change them: a form also reads declared fields that are not
        shown."""
        form = super().get_form(request, obj, change, **kwargs)
        if not self._may_change_credentials(request, obj):
            for name in SECRET_INPUTS:
                form.base_fields.pop(name, None)
        return form

    def _may_change_credentials(self, request: HttpRequest, obj: WithCredential | None) -> bool:
        may_change = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return may_change and request.user.has_perm(CHANGE_CREDENTIALS)

    @admin.display(description="Stored secret")
    def secret_state(self, row: WithCredential) -> str:
        stored = _stored(row)
        if stored is None:
            return "not set"
        changed = f"changed {localdate(stored.secret_changed_at)}" if stored.secret_changed_at else "set long ago"
        try:
            last = ending(vault().open(stored.sealed_secret, upstream=stored.name))
        except UpstreamError:
            return f"set · cannot be decrypted, its key is no longer configured: enter it again · {changed}"
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


def _stored(row: WithCredential | None) -> WithCredential | None:
    """The row as stored, even if `row` has the input of a rejected form; None if no secret is stored."""
    return type(row)._default_manager.filter(pk=row.pk).exclude(sealed_secret="").first() if row else None


def _without(left_out: set[str], title: str | None, options: Any) -> tuple[str | None, Any]:
    return title, {**options, "fields": [name for name in options["fields"] if name not in left_out]}
