"""Token budgets in the admin: the saved values, the effective values, and where each of them comes from."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from context_protection.configuration import policies
from context_protection.configuration.rejections import rejections
from context_protection.core.errors import nearest
from context_protection.core.policy import SETTINGS, Policy, RulerName
from context_protection.core.scopes import ANY
from context_protection.core.setting import Setting, SettingGroup, Value
from context_protection.history import HistoryAdmin
from context_protection.layers.declarations import declared
from context_protection.models import SCOPE, TokenBudget

INHERITED = "An empty field inherits its value, which is shown in grey and under “What applies now”."

NOTHING_TO_SAVE = "Nothing to save: every value is inherited. Fill in at least one."

TOKEN_UNITS = {RulerName.FORMULA: "tokens, formula estimate", RulerName.CLAUDE: "tokens, as Claude counts"}
COUNTED_BY = {"hard_cap": RulerName.CLAUDE, "chunk_tokens": RulerName.FORMULA}  # whichever ruler the policy sets


def unit_of(setting: Setting, ruler: str) -> str:
    """The setting's unit as people read it. For tokens, it tells whether the formula or Claude counts them."""
    return TOKEN_UNITS[COUNTED_BY.get(setting.name, RulerName(ruler))] if setting.unit == "tokens" else setting.unit


class TokenBudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    is_draft = False  # True: an empty form is valid, because its effect is shown before saving

    class Meta:
        model = TokenBudget
        fields = (*SCOPE, *SETTINGS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            for name in SCOPE:
                self.fields.pop(name, None)  # the scope of a saved budget cannot change
        elif "connector" in self.fields:
            connectors = sorted({each.connector for each in declared.values() if each.connector})
            self.fields["connector"] = forms.ChoiceField(
                choices=[("", "–"), *((name, name) for name in connectors)],
                required=False,
                help_text=self.fields["connector"].help_text,
            )
        self._show_inherited()

    def _show_inherited(self) -> None:
        """Shows the inherited value in each empty field."""
        scope = self.instance.scope
        inherited = TokenBudget.objects.budgets().with_budget(scope, {}).resolve(scope)
        ruler = self.instance.ruler or inherited.ruler
        for name in self.fields.keys() & SETTINGS.keys():  # a user who may only view has none of these fields
            show_inherited_value(self.fields[name], SETTINGS[name], getattr(inherited, name))
            label, unit = str(self.fields[name].label), unit_of(SETTINGS[name], ruler)
            if unit and unit not in label:
                self.fields[name].label = f"{label} ({unit})"

    def clean_operation(self) -> str:
        operation: str = self.cleaned_data["operation"]
        if operation and ANY not in operation and operation not in declared:
            close = nearest(operation, declared)
            raise forms.ValidationError(
                f"There is no operation {operation}. "
                + (f"Did you mean {close}?" if close else "Use a name from the tool list, or a pattern such as nsip_*.")
            )
        return operation

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        scope = {name: self.cleaned_data.get(name, getattr(self.instance, name)) for name in SCOPE}
        if not self.instance.pk and TokenBudget.objects.filter(**scope).exists():
            words = f"{TokenBudget(**scope)} has a budget already. Edit that one instead of adding another."
            self.add_error("operation", words)
        if not self.is_draft and not self.instance.pk and not self.errors and not self._has_values():
            raise forms.ValidationError(NOTHING_TO_SAVE)
        return cleaned

    def _has_values(self) -> bool:
        given = {name: self.cleaned_data.get(name, getattr(self.instance, name)) for name in SETTINGS}
        return any(value not in (None, "") for value in given.values())


def show_inherited_value(field: forms.Field, setting: Setting, value: Value) -> None:
    """Prepares the form field of a setting: its placeholder or first choice shows the inherited value, and numbers are
    limited to the setting's range."""
    shown = setting.shown(value)
    if isinstance(field, forms.IntegerField) and setting.range:
        low, high = setting.range
        field.validators = [partial(_check, setting)]  # replaces the range of the database column
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
        (None, {"fields": SCOPE, "description": INHERITED}),
        *((group.value, {"fields": _names_in(group)}) for group in SettingGroup),
        ("What applies now", {"fields": ("effective",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: TokenBudget | None = None) -> Any:
        """Shows the scope of a saved budget as text, because it cannot be changed."""
        fieldsets = super().get_fieldsets(request, obj)
        return [(None, {**fieldsets[0][1], "fields": ("budget_for",)}), *fieldsets[1:]] if obj else fieldsets

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self._show_rejections(request)
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._show_rejections(request)
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response

    def _show_rejections(self, request: HttpRequest) -> None:
        for sentence in rejections() if request.method == "GET" else ():
            self.message_user(request, sentence, messages.ERROR)

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
        policy = policies.with_last_good(TokenBudget.objects.budgets()).resolve(budget.scope)
        return f"{value:,} {unit_of(SETTINGS[name], policy.ruler)}"

    @admin.display(description="Budget for")
    def budget_for(self, budget: TokenBudget) -> str:
        return str(budget)

    @admin.display(description="Effective values")
    def effective(self, budget: TokenBudget) -> SafeString:
        set_by_ops = policies.with_last_good(TokenBudget.objects.budgets())
        policy = set_by_ops.resolve(budget.scope)
        rows = format_html_join(
            "",
            '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
            (
                (
                    each.canonical_name,
                    _measured(each, policy),
                    set_by_ops.source(budget.scope, name).words(budget.scope),
                )
                for name, each in SETTINGS.items()
            ),
        )
        head = '<thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>'
        return format_html("<table>" + head + "<tbody>{}</tbody></table>", rows)


def _measured(setting: Setting, policy: Policy) -> str:
    """A setting's value with its unit."""
    shown = setting.shown(getattr(policy, setting.name))
    return f"{shown} {unit_of(setting, policy.ruler)}" if setting.unit == "tokens" else shown
