"""The form of an upstream API, and a base for other models with a credential. A secret is never shown again."""

from typing import Any

from django import forms

from gateway.upstreams.connections import FIELDS_OF, OF_SOME_KINDS, Kind
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.rules import secret_problem

LONGEST_SECRET = 8_000  # characters; a header is not longer

ALWAYS = (
    "name",
    "base_url",
    "enabled",
    "authentication",
    "connect_seconds",
    "read_seconds",
    "total_seconds",
    "most_megabytes",
    "attempts",
    "rate_calls",
    "rate_seconds",
    "keep_seconds",
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
        help_text="For good. Without a secret, “Enabled” has to be off.",
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
            kind, user_name = Kind(cleaned["authentication"]), cleaned.get("user_name", "")
            if problem := secret_problem(kind, user_name, secret):
                self.add_error("secret", problem)
            else:
                self.instance.set_secret(secret)
        return cleaned


class UpstreamApiForm(CredentialForm):
    class Meta:
        model = UpstreamApi
        fields = (*ALWAYS, *sorted(OF_SOME_KINDS))


def _shown_for() -> dict[str, list[str]]:
    """The kinds of authentication that need each field. A script hides the field for all other kinds."""
    with_secret = [kind.value for kind in Kind if kind is not Kind.NONE]
    shown = {name: [kind.value for kind, names in FIELDS_OF.items() if name in names] for name in OF_SOME_KINDS}
    return {**shown, "secret": with_secret, "remove_secret": with_secret}
