"""The form of a new rollout: which tools, which values, which steps."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from django import forms

from context_protection.admin import show_inherited_value, unit_of
from context_protection.core.errors import nearest
from context_protection.core.policy import DEFAULTS, SETTINGS, RulerName
from context_protection.layers.declarations import declared
from context_protection.models import TokenBudget
from context_protection.reasons import reason_field
from gateway.staff.budgets.proposal import proposed
from gateway.staff.rollouts.models import STEPS, Rollout

CHANGEABLE = tuple(name for name, setting in SETTINGS.items() if setting.is_for_trials)
NEW = "new"  # the address of the form


def checked_name(name: str) -> str:
    """Raises ValidationError for a name with other characters, and for one whose page could not be reached."""
    if not re.fullmatch("[a-z0-9-]+", name):
        allowed = name.lower().replace("_", "-")
        raise forms.ValidationError(f"Write it with small letters, digits and hyphens: {allowed}.")
    if name == NEW:
        raise forms.ValidationError(f"“{NEW}” is the address of this form. Choose another name.")
    return name


def checked_tools(text: str) -> str:
    """Checks the names of tools and patterns in a text. Raises ValidationError for a tool that does not exist, and for
    a pattern that no tool matches."""
    for name in (each.strip() for each in text.split(",")):
        if "*" in name:
            if not any(fnmatchcase(each, name) for each in declared):
                raise forms.ValidationError(
                    f"No tool matches {name[:100]}. Write the beginning of names of the tool list."
                )
        elif name and name not in declared:
            close = nearest(name, declared)
            raise forms.ValidationError(
                f"There is no tool {name[:100]}."
                + (f" Did you mean {close}?" if close else " Write a name of the tool list, or a pattern.")
            )
    return text


class RolloutForm(forms.ModelForm):  # type: ignore[type-arg]
    steps = forms.CharField(
        initial=", ".join(map(str, STEPS)), max_length=60, help_text="Percent of the callers, step by step, up to 100."
    )
    reason = reason_field(is_required=True)

    class Meta:
        model = Rollout
        fields = ("name", "operations", "steps", "minimum_calls", "minimum_minutes")
        labels = {"operations": "Tools"}
        widgets = {"operations": forms.TextInput({"placeholder": "list_bookings, nsip_*", "size": 60})}
        help_texts = {
            "minimum_calls": "The next step waits for as many calls with the new values, and as many of other callers.",
            "minimum_minutes": "The next step waits at least as long.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in forms.fields_for_model(TokenBudget, fields=CHANGEABLE).items():
            setting = SETTINGS[name]
            show_inherited_value(field, setting, getattr(DEFAULTS, name))
            if isinstance(field, forms.IntegerField):
                field.widget.attrs.pop("placeholder", None)
            label, unit = str(field.label or name).capitalize(), unit_of(setting, RulerName.FORMULA)
            field.label = f"{label} ({unit})" if unit and unit not in label else label
            self.fields[name] = field

    @classmethod
    def filled_in(cls, query: Mapping[str, str]) -> dict[str, Any]:
        """The initial values that a link to the form passes: valid settings, the tools and the reason."""
        texts = {name: query[name] for name in ("operations", "reason") if name in query}
        return {**texts, **proposed(query, CHANGEABLE)}

    @property
    def settings(self) -> list[forms.BoundField]:
        return [self[name] for name in CHANGEABLE]

    def clean_name(self) -> str:
        return checked_name(self.cleaned_data["name"])

    def clean_operations(self) -> str:
        return checked_tools(self.cleaned_data["operations"])

    def clean_steps(self) -> list[int]:
        try:
            return [int(each) for each in self.cleaned_data["steps"].replace("%", "").split(",")]
        except ValueError:
            raise forms.ValidationError("Expected: whole numbers with commas between them: 5, 25, 50, 100.") from None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        given = {name: cleaned.get(name) for name in CHANGEABLE}
        self.instance.values = {name: value for name, value in given.items() if value not in (None, "")}
        return cleaned

    def _update_errors(self, errors: Any) -> None:
        """Shows the errors of the values above the form, unless a field has its own: a value that was rejected is no
        value that is missing."""
        if hasattr(errors, "error_dict") and "values" in errors.error_dict:
            of_values = errors.error_dict.pop("values")
            if not self.errors.keys() & set(CHANGEABLE):
                errors.error_dict.setdefault("__all__", []).extend(of_values)
        super()._update_errors(errors)  # type: ignore[misc]
