"""Token budgets in the admin: the saved values, the effective values, and where each of them comes from."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from context_protection.configuration import budgets, policies
from context_protection.core.policy import SETTINGS, Policy, RulerName
from context_protection.core.setting import Setting, SettingGroup, Value
from context_protection.history import HistoryAdmin
from context_protection.models import TokenBudget

INHERITED = "An empty field inherits its value, which is shown in grey and under “What applies now”."

TOKEN_UNITS = {RulerName.FORMULA: "tokens, formula estimate", RulerName.CLAUDE: "tokens, as Claude counts"}
COUNTED_BY = {"hard_cap": RulerName.CLAUDE, "chunk_tokens": RulerName.FORMULA}  # under either ruler


def unit_of(setting: Setting, ruler: str) -> str:
    """The unit of a setting for people. For tokens it names the count: the formula's or Claude's."""
    return TOKEN_UNITS[COUNTED_BY.get(setting.name, RulerName(ruler))] if setting.unit == "tokens" else setting.unit


class TokenBudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    operation = forms.ChoiceField(
        required=False,
        help_text="One operation, or all of them. A budget for one takes precedence over the budget for all.",
    )

    class Meta:
        model = TokenBudget
        fields = ("operation", *SETTINGS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            del self.fields["operation"]  # the operation of a saved budget cannot change
        else:
            known = [(name, name) for name in budgets.kinds]
            self.fields["operation"].choices = [("", "All operations"), *known]  # type: ignore[attr-defined]
        self._show_inherited()

    def _show_inherited(self) -> None:
        """Shows the inherited value in each empty field."""
        inherited = (
            TokenBudget.objects.budgets().with_layer(self.instance.operation, {}).resolve(self.instance.operation)
        )
        ruler = self.instance.ruler or inherited.ruler
        for name in self.fields.keys() & SETTINGS.keys():  # users with view permission only have none of these fields
            _show_inherited_value(self.fields[name], SETTINGS[name], getattr(inherited, name))
            label, unit = str(self.fields[name].label), unit_of(SETTINGS[name], ruler)
            if unit and unit not in label:
                self.fields[name].label = f"{label} ({unit})"

    def clean_operation(self) -> str:
        operation: str = self.cleaned_data["operation"]
        if TokenBudget.objects.filter(operation=operation).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(
                f"{operation or 'All operations'} has a budget already. Edit that one instead of adding another."
            )
        return operation


def _show_inherited_value(field: forms.Field, setting: Setting, value: Value) -> None:
    """Prepares the form field of a setting: its placeholder or first choice shows the inherited value, and numbers are
    limited to the setting's range."""
    shown = setting.shown(value)
    if isinstance(field, forms.IntegerField) and setting.range:
        low, high = setting.range
        field.validators = [partial(_check, setting)]  # the policy's rule replaces that of the database column
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


def _names_in(group: SettingGroup) -> tuple[str, ...]:
    return tuple(name for name, setting in SETTINGS.items() if setting.group is group)


@admin.register(TokenBudget)
class TokenBudgetAdmin(HistoryAdmin):
    form = TokenBudgetForm
    list_display = (
        "__str__",
        "threshold",
        "cap",
        "default_page_size",
        "max_page_size",
        "chunk_size",
        "changed_at",
    )
    readonly_fields = ("effective", "budget_for")
    fieldsets = (
        (None, {"fields": ("operation",), "description": INHERITED}),
        *((group.value, {"fields": _names_in(group)}) for group in SettingGroup),
        ("What applies now", {"fields": ("effective",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: TokenBudget | None = None) -> Any:
        """Shows the operation of a saved budget as text, because it cannot be changed."""
        fieldsets = super().get_fieldsets(request, obj)
        return [(None, {**fieldsets[0][1], "fields": ("budget_for",)}), *fieldsets[1:]] if obj else fieldsets

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self._say_what_is_rejected(request)
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._say_what_is_rejected(request)
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response

    def _say_what_is_rejected(self, request: HttpRequest) -> None:
        """Invalid budgets are not used. The form rejects them, but the database accepts them from elsewhere."""
        rejected = policies.with_last_good(TokenBudget.objects.budgets()).rejected if request.method == "GET" else {}
        for operation, problems in rejected.items():
            sentences = " ".join(each.sentence for each in problems)
            text = f"The budget for {operation or 'all operations'} is not used: {sentences} The last valid one stays."
            self.message_user(request, text, messages.ERROR)

    @admin.display(description="Threshold", ordering="token_budget_threshold")
    def threshold(self, budget: TokenBudget) -> str:
        return self._with_unit(budget, "token_budget_threshold")

    @admin.display(description="Hard cap", ordering="hard_cap")
    def cap(self, budget: TokenBudget) -> str:
        return self._with_unit(budget, "hard_cap")

    def _with_unit(self, budget: TokenBudget, name: str) -> str:
        value = getattr(budget, name)
        if value is None:
            return "–"
        policy = policies.with_last_good(TokenBudget.objects.budgets()).resolve(budget.operation)
        return f"{value:,} {unit_of(SETTINGS[name], policy.ruler)}"

    @admin.display(description="Operation")
    def budget_for(self, budget: TokenBudget) -> str:
        return str(budget)

    @admin.display(description="Effective values")
    def effective(self, budget: TokenBudget) -> SafeString:
        set_by_ops = policies.with_last_good(TokenBudget.objects.budgets())
        policy = set_by_ops.resolve(budget.operation)
        rows = format_html_join(
            "",
            '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
            (
                (each.canonical_name, _measured(each, policy), set_by_ops.source(budget.operation, name))
                for name, each in SETTINGS.items()
            ),
        )
        head = '<thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>'
        return format_html("<table>" + head + "<tbody>{}</tbody></table>", rows)


def _measured(setting: Setting, policy: Policy) -> str:
    """A setting's value with its unit."""
    shown = setting.shown(getattr(policy, setting.name))
    return f"{shown} {unit_of(setting, policy.ruler)}" if setting.unit == "tokens" else shown
