"""The form of one scope's budget. It rejects a save that would change nothing, and asks before a dangerous change."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from context_protection.admin import NOTHING_TO_SAVE, TokenBudgetForm
from context_protection.configuration import policies
from context_protection.core import field_selection
from context_protection.core.cached_property import cached_property
from context_protection.core.policy import SETTINGS, Kind, Policy
from context_protection.core.scopes import Breadth, BudgetScope
from context_protection.models import SCOPE, TokenBudget
from context_protection.reasons import REASON, REASON_NEEDED, reason_field, reason_in
from gateway.catalog.catalog import catalogue
from gateway.staff.budgets.scopes import covered
from gateway.staff.preview.samples import sample_of, unknown_field, without_field

CLIENT_LIMIT = 25_000  # tokens: Claude Code's own default limit of an answer


class BudgetForm(TokenBudgetForm):
    """`names`: the settings that the page shows; the others stay as they are stored."""

    is_draft = True

    is_confirmed = forms.BooleanField(label="Save anyway", required=False)

    def __init__(self, *args: Any, names: frozenset[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[REASON] = reason_field()
        self.names = names
        self.stored = self.instance.layer()  # before the form changes the instance
        for name in (*SCOPE, *(SETTINGS.keys() - names)):
            self.fields.pop(name, None)
        self.questions: list[str] = []  # to be answered before the budget is saved
        is_one = self.instance.scope.breadth is Breadth.OPERATION
        self._operation = catalogue.find(self.instance.operation) if is_one else None

    @property
    def scope(self) -> BudgetScope:
        scope: BudgetScope = self.instance.scope
        return scope

    @cached_property
    def has_valid_values(self) -> bool:
        """Whether the values are valid, so that their effect can be shown even if saving them is refused."""
        return self.is_valid()

    @property
    def reason(self) -> str:
        """The reason in a valid form; "" if none was given."""
        return reason_in(self.cleaned_data)

    @property
    def values(self) -> Mapping[str, Any]:
        """The budget's values, including those of a valid form."""
        layer: Mapping[str, Any] = self.instance.layer()
        return layer

    def clean_summary_fields(self) -> str:
        text: str = self.cleaned_data.get("summary_fields") or ""
        if text and self._operation is not None:
            sample = sample_of(self._operation)
            problems = [unknown_field(name, self._operation, sample) for name in field_selection.names_in(text)]
            if found := [problem for problem in problems if problem]:
                raise forms.ValidationError(found)
        return text

    def add_error(self, field: str | None, error: Any) -> None:
        """Shows errors of settings that are not on the page above the form."""
        if field is None and isinstance(error, ValidationError) and hasattr(error, "error_dict"):
            mine = {name: each for name, each in error.error_dict.items() if name in self.fields}
            others = [each for name, every in error.error_dict.items() if name not in self.fields for each in every]
            if others:
                mine[NON_FIELD_ERRORS] = others
            error = ValidationError(mine)
        super().add_error(field, error)

    def check_saving(self) -> bool:
        """Whether the form may be saved. If not, adds the errors, or the questions to answer first."""
        if not self.has_valid_values:
            return False
        problem = self._nothing_changes()
        if problem:
            self.add_error(None, problem)
            return False
        if self._exceeds_a_client() and not self.cleaned_data["is_confirmed"]:
            self.questions.append(
                f"{CLIENT_LIMIT:,} is Claude Code's own default limit: answers near it may be cut there. Save anyway?"
            )
        unknown = self._unknown_withheld()
        if unknown and not self.cleaned_data["is_confirmed"]:
            named = ", ".join(f"“{each}”" for each in unknown)
            self.questions.append(f"No tool here is known to have a field {named}. Save anyway?")
        acts = self._operation is not None and self._operation.kind is Kind.ACTION
        if (self._exceeds_a_client() or acts) and not self.reason:
            self.add_error(REASON, REASON_NEEDED)
        return not self.questions and not self.errors

    def _unknown_withheld(self) -> list[str]:
        """The newly withheld field names that no available answer has, for example because they are misspelt."""
        text = self.values.get("withheld_fields")
        if not text or text == self.stored.get("withheld_fields"):
            return []
        tools = [found for name in covered(self.scope) if (found := catalogue.find(name)) is not None]
        return without_field(sorted(Policy(withheld_fields=text).withheld), tools)

    def _exceeds_a_client(self) -> bool:
        cap = self.values.get("hard_cap")
        return cap is not None and cap >= CLIENT_LIMIT and cap != self.stored.get("hard_cap")

    def _nothing_changes(self) -> str:
        new = dict(self.values)
        if all(value is None for value in new.values()):
            return NOTHING_TO_SAVE + (" To inherit all, remove this budget." if self.instance.pk else "")
        if new == self.stored:
            return "Nothing to save: these values are already saved."
        now = policies.with_last_good(TokenBudget.objects.budgets())
        changed = [name for name in new if new[name] != self.stored.get(name)]
        policy = now.with_budget(self.scope, {}).resolve(self.scope)
        if all(self.stored.get(name) is None and getattr(policy, name) == new[name] for name in changed):
            unchanged = ", ".join(
                f"{SETTINGS[name].canonical_name} is {SETTINGS[name].shown(new[name])}" for name in changed
            )
            return f"Nothing would change: {unchanged} already. Leave it empty to inherit it."
        return ""
