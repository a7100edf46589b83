"""The page of a new rollout or experiment: a form that saves a draft, and then leads to the draft's page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse

from context_protection.reasons import give_reason
from telemetry.pages.address import Address
from telemetry.pages.shell import show


@dataclass(frozen=True, slots=True)
class NewPage:
    """`form` has a field `reason`, and saves a model with a `name`. `made`: the URL name of the saved draft's page."""

    form: type[forms.ModelForm]  # type: ignore[type-arg]
    template: str
    title: str
    sentence: str
    made: str

    def answer(
        self, request: HttpRequest, address: Address, filled_in: Mapping[str, Any] | None = None
    ) -> HttpResponseBase:
        """The form with the values in `filled_in`; the form with its errors (400); or a redirect to the saved draft."""
        form = self.form(request.POST if request.method == "POST" else None, initial=dict(filled_in or {}))
        if form.is_valid():
            give_reason(form.instance, form.cleaned_data["reason"])
            draft = form.save()
            messages.success(request, "Saved as a draft. Nothing changes before you start it.")
            return HttpResponseRedirect(reverse(self.made, args=[draft.name]))
        return show(
            request,
            address,
            self.template,
            title=self.title,
            sentence=self.sentence,
            has_comparison=False,
            has_recorder_notes=False,
            status=400 if form.errors else 200,
            form=form,
        )
