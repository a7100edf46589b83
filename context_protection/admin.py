"""Token budgets in the admin: what is set, what applies, and where it comes from."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from simple_history.admin import SimpleHistoryAdmin

from context_protection import policies
from context_protection.models import TokenBudget
from context_protection.policy import CANONICAL_NAMES, setting_names

INHERITED = "Empty fields are inherited; what applies stands below."


class TokenBudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    operation = forms.ChoiceField(
        required=False,
        help_text="One operation, or all of them. A budget for one goes before the budget for all.",
    )

    class Meta:
        model = TokenBudget
        fields = ("operation", *setting_names())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields.get("operation")  # none once it is saved: then it is read-only
        if isinstance(field, forms.ChoiceField):
            field.choices = [("", "All operations"), *((name, name) for name in policies.kinds)]

    def clean_operation(self) -> str:
        operation: str = self.cleaned_data["operation"]
        if TokenBudget.objects.filter(operation=operation).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(
                f"{operation or 'All operations'} has a budget already; change that one instead of adding another."
            )
        return operation


@admin.register(TokenBudget)
class TokenBudgetAdmin(SimpleHistoryAdmin):
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
    readonly_fields = ("effective",)
    fieldsets = (
        (None, {"fields": ("operation",)}),
        (
            "Budget (tokens)",
            {"fields": ("token_budget_threshold", "hard_cap", "ruler"), "description": INHERITED},
        ),
        ("Pages (rows)", {"fields": ("default_page_size", "max_page_size")}),
        ("Long texts", {"fields": ("chunk_size", "chunk_tokens")}),
        ("Switches", {"fields": ("pagination", "summarization", "chunking", "meta_on_small_lists")}),
        ("What applies now", {"fields": ("effective",)}),
    )

    @admin.display(description="Effective values")
    def effective(self, budget: TokenBudget) -> SafeString:
        budgets = policies.load()
        policy = budgets.resolve(budget.operation)
        rows = format_html_join(
            "",
            '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
            (
                (CANONICAL_NAMES[name], getattr(policy, name), budgets.source(budget.operation, name))
                for name in setting_names()
            ),
        )
        head = '<thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>'
        return format_html("<table>" + head + "<tbody>{}</tbody></table>", rows)

    def get_readonly_fields(self, request: HttpRequest, obj: TokenBudget | None = None) -> tuple[str, ...]:
        return ("effective", "operation") if obj else ("effective",)
