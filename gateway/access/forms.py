"""The form of an API key: which tools its clients are shown."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple

from gateway.access.models import ApiKey
from gateway.operations import catalogue


def _tools(what: str, help_text: str) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        required=False, label=what.capitalize(), help_text=help_text, widget=FilteredSelectMultiple(what, False)
    )


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    pinned_tools = _tools("pinned tools", "Listed also where tools are searched for.")
    hidden_tools = _tools("hidden tools", "For this key they do not exist, at any door.")

    class Meta:
        model = ApiKey
        fields = ("name", "expires_at", "tool_listing", "pinned_tools", "hidden_tools")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("pinned_tools", "hidden_tools"):
            if name in self.fields:
                chosen: Iterable[str] = getattr(self.instance, name)
                self.fields[name].choices = _choices(chosen)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        both = set(cleaned.get("pinned_tools", ())).intersection(cleaned.get("hidden_tools", ()))
        if both:
            self.add_error("hidden_tools", f"Pinned and hidden at once: {', '.join(sorted(both))}. Choose one of them.")
        return cleaned


def _choices(chosen: Iterable[str]) -> list[tuple[str, str]]:
    """Every tool that is listed, by name; and what was chosen once and is no longer there, so that it can be seen and
    taken out."""
    known = {each.name: f"{each.name}: {each.title}" for each in catalogue if each.listed}
    gone = {name: f"{name} (no longer exists)" for name in chosen if name not in known}
    return sorted({**known, **gone}.items())
