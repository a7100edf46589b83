"""The form of a new experiment: its question, its tools and its main measure."""

from django import forms

from context_protection.reasons import reason_field
from gateway.staff.experiments.models import Experiment
from gateway.staff.rollouts.forms import checked_name, checked_tools


class ExperimentForm(forms.ModelForm):  # type: ignore[type-arg]
    reason = reason_field(is_required=True)

    class Meta:
        model = Experiment
        fields = ("name", "question", "operations", "is_shadow", "main_measure", "planned_days")
        labels = {"operations": "Tools"}
        widgets = {"operations": forms.TextInput({"placeholder": "list_bookings, nsip_*", "size": 60})}

    def clean_name(self) -> str:
        return checked_name(self.cleaned_data["name"])

    def clean_operations(self) -> str:
        return checked_tools(self.cleaned_data["operations"])

    def clean_planned_days(self) -> int:
        days: int = self.cleaned_data["planned_days"]
        if not 1 <= days <= 90:
            raise forms.ValidationError("Choose 1 to 90 days.")
        return days
