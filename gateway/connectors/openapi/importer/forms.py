"""The forms of an import: where the document is, which operations become tools, and the credentials."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.forms.fields import InvalidJSONInput

from context_protection.core import json_limits
from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.importer.import_plan import api_name_problem
from gateway.connectors.openapi.request.credentials import Credentials
from gateway.upstreams.connections import FIELDS_OF_KIND, LONGEST_SECRET, AuthKind, secret_problem
from gateway.upstreams.models import KIND_LABELS, UpstreamApi

MAX_MEGABYTES = 40
KINDS = (
    AuthKind.NONE,
    AuthKind.HEADER,
    AuthKind.QUERY,
    AuthKind.BEARER,
    AuthKind.BASIC,
)  # OAuth clients are entered on the connection


class DocumentForm(forms.Form):
    name = forms.SlugField(
        max_length=32,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off", "spellcheck": "false"}),
        help_text="A short name in lower-case letters, such as acme. Its tools begin with it: acme_list_orders.",
    )
    file = forms.FileField(
        required=False,
        widget=forms.FileInput(attrs={"accept": ".json,.yaml,.yml"}),
        help_text=f"An OpenAPI document, 3.0 or 3.1, as JSON or YAML, of at most {MAX_MEGABYTES} MB.",
    )
    url = forms.URLField(
        required=False,
        assume_scheme="https",
        label="Or its address",
        widget=forms.URLInput(attrs={"class": "vURLField"}),
        help_text="The document's address, for example https://api.example.com/openapi.json.",
    )
    base_url = forms.URLField(
        required=False,
        assume_scheme="https",
        label="Base address of the API",
        widget=forms.URLInput(attrs={"class": "vURLField"}),
        help_text="Empty: the address in the document, or the one that is already set.",
    )

    def clean_name(self) -> str:
        name: str = UpstreamApi._meta.get_field("name").clean(self.cleaned_data["name"], None)
        is_new = not UpstreamApi.objects.filter(name=name, imported__isnull=False).exists()
        if is_new and (problem := api_name_problem(name)):
            raise forms.ValidationError(problem)
        return name

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > MAX_MEGABYTES * 2**20:
            raise forms.ValidationError(
                f"The file has {file.size / 2**20:.0f} MB; at most {MAX_MEGABYTES} MB are read."
            )
        return file

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and bool(cleaned.get("file")) == bool(cleaned.get("url")):
            raise forms.ValidationError("Choose a file or enter an address, but not both.")
        return cleaned


class CredentialsForm(forms.Form):
    """May stay empty. No credentials are then sent until they are entered on the connection."""

    authentication = forms.ChoiceField(
        choices=[(kind.value, KIND_LABELS[kind]) for kind in KINDS],
        required=False,
        help_text="Credentials without a secret are not stored; enter them later, under Upstream APIs.",
    )
    parameter_name = forms.CharField(
        required=False,
        max_length=100,
        label="Name of the header or parameter",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    user_name = forms.CharField(
        required=False, max_length=200, widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"})
    )
    secret = forms.CharField(
        required=False,
        max_length=LONGEST_SECRET,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text="The API key, token or password. Sent only to the base address, stored encrypted, shown to nobody.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("parameter_name", "user_name"):
            shown_for = [kind.value for kind in KINDS if name in FIELDS_OF_KIND[kind]]
            self.fields[name].widget.attrs["data-shown-for"] = " ".join(shown_for)
        with_secret = [kind.value for kind in KINDS if kind is not AuthKind.NONE]
        self.fields["secret"].widget.attrs["data-shown-for"] = " ".join(with_secret)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        given = self.credentials
        if given.secret and (problem := secret_problem(given.kind, given.user_name, given.secret)):
            self.add_error("secret", problem)
        if given.secret and given.kind in (AuthKind.HEADER, AuthKind.QUERY) and not given.parameter_name:
            self.add_error(
                "parameter_name", "Enter the name of the header or parameter, for example X-API-Key or api_key."
            )
        return cleaned

    @property
    def credentials(self) -> Credentials:
        cleaned = self.cleaned_data
        kind = AuthKind(cleaned.get("authentication") or AuthKind.NONE)
        own = {name: cleaned.get(name, "") for name in FIELDS_OF_KIND[kind]}
        return Credentials(kind=kind, secret=cleaned.get("secret", ""), **own)


class Choices:
    """The checkboxes and names of a preview page, which has too many fields for a Django form. Unchanged names are not
    submitted."""

    def __init__(self, data: Any, keys: Iterable[str], proposed: dict[str, str]) -> None:
        self.chosen = frozenset(data.getlist("chosen")).intersection(keys)
        typed = {key: str(data.get(f"name:{key}", "")).strip() for key in proposed}
        self.names = {key: typed[key] or name for key, name in proposed.items()}


class OptionalJson(forms.JSONField):
    """A JSON field that shows an unset value as empty, not as the word null."""

    widget = forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"})

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)

    def to_python(self, value: Any) -> Any:
        try:
            json_limits.check(value if isinstance(value, str) else "", str(self.label or "The field"))
        except InvalidArgument as error:
            raise forms.ValidationError(error.message, code=error.reason) from None
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Returns the submitted text unchanged: there is no need to parse it again."""
        is_typed = isinstance(data, str) and not self.disabled
        return InvalidJSONInput(data) if is_typed else super().bound_data(data, initial)
