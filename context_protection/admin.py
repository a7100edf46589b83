"""Token budgets in the admin: the saved values, the effective values, and where each of them comes from."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from context_protection.configuration import budgets
from context_protection.core.policy import SETTINGS
from context_protection.core.setting import Group, Setting, Value
from context_protection.history import HistoryAdmin
from context_protection.models import TokenBudget

INHERITED = "Empty fields are inherited: what then applies is shown in grey, and under “What applies now”."


class TokenBudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    operation = forms.ChoiceField(
        required=False,
        help_text="One operation, or all of them. A budget for one goes before the budget for all.",
    )

    class Meta:
        model = TokenBudget
        fields = ("operation", *SETTINGS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            del self.fields["operation"]  # a saved budget keeps its operation
        else:
            known = [(name, name) for name in budgets.kinds]
            self.fields["operation"].choices = [("", "All operations"), *known]  # type: ignore[attr-defined]
        self._show_inherited()

    def _show_inherited(self) -> None:
        """Shows the inherited value in each empty field."""
        inherited = (
            TokenBudget.objects.budgets().with_layer(self.instance.operation, {}).resolve(self.instance.operation)
        )
        for name in self.fields.keys() & SETTINGS.keys():  # users with view permission only have none of these fields
            _show_inherited_value(self.fields[name], SETTINGS[name], getattr(inherited, name))

    def clean_operation(self) -> str:
        operation: str = self.cleaned_data["operation"]
        if TokenBudget.objects.filter(operation=operation).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(
                f"{operation or 'All operations'} has a budget already; change that one instead of adding another."
            )
        return operation


def _show_inherited_value(field: forms.Field, setting: Setting, value: Value | None) -> None:
    """Prepares the field of a setting: what it says while it is empty, and which values it takes."""
    shown = setting.shown(value)
    if isinstance(field, forms.IntegerField) and setting.range:
        low, high = setting.range
        field.validators = [partial(_check, setting)]  # only the policy's rule, not the column's
        field.widget.attrs.update(placeholder=shown, min=low, max=high)
    elif isinstance(field, forms.NullBooleanField):
        field.widget = forms.NullBooleanSelect()
        field.widget.choices = [("unknown", f"Inherited ({shown})"), ("true", "On"), ("false", "Off")]
    elif isinstance(field, forms.ChoiceField):
        _, *choices = list(field.choices)  # type: ignore[arg-type]
        field.choices = [("", f"Inherited ({shown})"), *choices]
    else:
        field.widget = forms.Textarea({"rows": 2, "cols": 80, "placeholder": shown})


def _check(setting: Setting, value: int) -> None:
    if problem := setting.problem(value):
        raise forms.ValidationError(problem.sentence)


def _names_in(group: Group) -> tuple[str, ...]:
    return tuple(name for name, setting in SETTINGS.items() if setting.group is group)


@admin.register(TokenBudget)
class TokenBudgetAdmin(HistoryAdmin):
    form = TokenBudgetForm
    list_display = (
        "__str__",
        "token_budget_threshold",
        "hard_cap",
        "default_page_size",
        "max_page_size",
        "chunk_size",
        "changed_at",
    )
    readonly_fields = ("effective", "budget_for")
    fieldsets = (
        (None, {"fields": ("operation",), "description": INHERITED}),
        *((group.value, {"fields": _names_in(group)}) for group in Group),
        ("What applies now", {"fields": ("effective",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: TokenBudget | None = None) -> Any:
        """Shows the operation of a saved budget as text, because it cannot be changed."""
        fieldsets = super().get_fieldsets(request, obj)
        return [(None, {**fieldsets[0][1], "fields": ("budget_for",)}), *fieldsets[1:]] if obj else fieldsets

    @admin.display(description="Operation")
    def budget_for(self, budget: TokenBudget) -> str:
        return str(budget)

    @admin.display(description="Effective values")
    def effective(self, budget: TokenBudget) -> SafeString:
        set_by_ops = TokenBudget.objects.budgets()
        policy = set_by_ops.resolve(budget.operation)
        rows = format_html_join(
            "",
            '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
            (
                (each.canonical_name, each.shown(getattr(policy, name)), set_by_ops.source(budget.operation, name))
                for name, each in SETTINGS.items()
            ),
        )
        head = '<thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>'
        return format_html("<table>" + head + "<tbody>{}</tbody></table>", rows)
