"""The form of an API key: which tools its clients are shown, and which secret fields."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.utils import timezone

from context_protection.core.redaction import path_kind
from gateway.access.models import ApiKey, ToolSet
from gateway.access.project_names import project_names
from gateway.catalog.catalog import catalogue


def _tools(label: str, help_text: str, what: str = "") -> forms.MultipleChoiceField:
    """`what`: the word for the tools in the headings of the two lists, if it differs from the label."""
    widget = FilteredSelectMultiple(what or label, False)
    return forms.MultipleChoiceField(required=False, label=label.capitalize(), help_text=help_text, widget=widget)


OFFERED_LIFE = timedelta(days=90)  # the suggested lifetime of a new key
MAX_REVEALED = 100
LONGEST_NAME = 200  # characters
_SEPARATOR = re.compile(r"[,\n\r]")
ABOUT_REVEALED = (
    "Names of secret fields, separated by commas: doorCode, wifiPassword. Holders of this key see their values in "
    "clear, and can filter and search by them. For a custom field, enter the name that people gave it: Gate code. "
    "Values within texts stay masked. Empty: nothing is revealed."
)


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    allowed_tools = _tools(
        "chosen tools", "The key sees only these, and those of its sets. Without both, it sees all tools.", "tools"
    )
    pinned_tools = _tools("pinned tools", "Listed even if clients must search for the other tools.")
    hidden_tools = _tools("hidden tools", "They do not exist for this key, over any transport.")
    projects = forms.MultipleChoiceField(
        required=False,
        help_text="The key reads the files of these projects, and no others.",
        widget=FilteredSelectMultiple("projects", False),
    )

    reveal = forms.CharField(
        required=False,
        label="Revealed fields",
        help_text=ABOUT_REVEALED,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60, "placeholder": "doorCode, wifiPassword"}),
    )

    class Meta:
        model = ApiKey
        fields = (
            *("name", "owner", "expires_at", "daily_tokens", "reads_only", "tool_sets"),
            *("allowed_tools", "hidden_tools", "tool_listing", "pinned_tools"),
            *("reads_all_projects", "projects", "reveal"),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None and "expires_at" in self.fields:
            self.initial.setdefault("expires_at", timezone.localtime() + OFFERED_LIFE)
        for name in ("allowed_tools", "pinned_tools", "hidden_tools"):
            if name in self.fields:
                chosen: Iterable[str] = getattr(self.instance, name)
                self.fields[name].choices = _choices(chosen)  # type: ignore[attr-defined]
        if "projects" in self.fields:
            there = project_names()
            gone = [(name, f"{name} (no longer exists)") for name in self.instance.projects if name not in there]
            self.fields["projects"].choices = [*((name, name) for name in there), *gone]  # type: ignore[attr-defined]
        if "expires_at" in self.fields:
            for part, what in zip(self.fields["expires_at"].widget.widgets, ("day", "time"), strict=True):
                part.attrs["aria-label"] = f"Expires at, {what}"
        self.initial["reveal"] = ", ".join(self.instance.reveal)

    def clean_name(self) -> str:
        """Frees the name if a revoked key has it."""
        name: str = self.cleaned_data["name"]
        ApiKey.objects.release(name)
        return name

    def clean_reveal(self) -> list[str]:
        given = (name.strip() for name in _SEPARATOR.split(self.cleaned_data["reveal"]))
        names = sorted({name for name in given if name})
        if len(names) > MAX_REVEALED:
            raise forms.ValidationError(f"{len(names)} names are too many. Enter at most {MAX_REVEALED}.")
        for name in names:
            if len(name) > LONGEST_NAME:
                raise forms.ValidationError(f"“{name[:40]}…” is longer than {LONGEST_NAME} characters. Shorten it.")
            if path_kind(name) is None:
                raise forms.ValidationError(
                    f"“{name}” is not withheld: every key sees it already. Name fields as the page “Withheld fields” "
                    "shows them, without the path before the name, such as doorCode."
                )
        return names

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        hidden = set(cleaned.get("hidden_tools", ()))
        for name, word in (("pinned_tools", "Pinned"), ("allowed_tools", "Chosen")):
            if both := hidden.intersection(cleaned.get(name, ())):
                self.add_error(
                    "hidden_tools", f"{word} and hidden at once: {', '.join(sorted(both))}. Choose one of them."
                )
        return cleaned


class ToolSetForm(forms.ModelForm):  # type: ignore[type-arg]
    tools = _tools("tools", "Tools that read results and search for tools belong to every set.")

    class Meta:
        model = ToolSet
        fields = ("name", "tools")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "tools" in self.fields:
            self.fields["tools"].choices = _choices(self.instance.tools)  # type: ignore[attr-defined]


def _choices(chosen: Iterable[str]) -> list[tuple[str, str]]:
    """The names and labels of all listed tools, sorted by name. Includes chosen tools that no longer exist, so that
    they can be seen and removed."""
    known = {each.name: f"{each.name}: {each.title}" for each in catalogue if each.listed}
    gone = {name: f"{name} (no longer exists)" for name in chosen if name not in known}
    return sorted({**known, **gone}.items())
