"""The page that rolls the configuration, or one object, back to a moment. It first shows what would change, and then
asks for a reason."""

import hashlib
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from context_protection.reasons import reason_field
from gateway.staff.history import rollback
from gateway.staff.history.change_list import SEE
from gateway.staff.history.rollback import RollbackPlan, RollbackRefused
from telemetry import wording
from telemetry.pages.address import Address
from telemetry.pages.ranges import YEARS
from telemetry.pages.shell import page, show

PLAN_IS_STALE = "The configuration has changed since you saw this plan. Here is the new one."


class RollbackForm(forms.Form):
    reason = reason_field(is_required=True)


class MomentForm(forms.Form):
    moment = forms.DateTimeField(
        label="Back to",
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z"],
        error_messages={
            "invalid": "This is not a date and time. Expected: 2026-11-22T12:30.",
            "required": "Choose the date and time to go back to.",
        },
    )
    object = forms.CharField(required=False, max_length=150, widget=forms.HiddenInput)

    def clean_moment(self) -> datetime:
        moment: datetime = self.cleaned_data["moment"]
        if moment.year < min(YEARS):
            raise forms.ValidationError(self.fields["moment"].error_messages["invalid"])
        if moment >= timezone.now():
            raise forms.ValidationError("This moment is in the future. Choose one in the past.")
        return moment


@page(needs=SEE, default_range="7d")
@require_http_methods(["GET", "HEAD", "POST"])
def roll_back(request: HttpRequest, address: Address) -> HttpResponseBase:
    chosen = MomentForm(request.GET if "moment" in request.GET else None)
    if not chosen.is_bound or not chosen.is_valid():
        return _shown(request, address, chosen)
    moment, only = chosen.cleaned_data["moment"], chosen.cleaned_data["object"]
    found = rollback.plan(moment, request.user, only)
    form = RollbackForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not found.steps or not form.is_valid():
        return _shown(request, address, chosen, found, form)
    if request.POST.get("plan") != digest(found):
        return _shown(request, address, chosen, found, form, problem=PLAN_IS_STALE)
    began_at = timezone.now()
    try:
        rollback.apply(found, form.cleaned_data["reason"])
    except RollbackRefused as error:
        problem = f"Nothing was changed, because the values of that moment are not valid now. {error}"
        return _shown(request, address, chosen, found, form, problem=problem)
    messages.success(request, f"{wording.plural(found.changes, 'change')} made. The next call obeys.")
    return HttpResponseRedirect(f"{reverse('history:history')}?{urlencode({'undo': _undo_link(began_at, only)})}")


def _undo_link(began_at: datetime, only: str) -> str:
    """The link to this page for the moment just before the rollback."""
    undo = {"moment": (began_at - timedelta(microseconds=1)).isoformat(), "object": only}
    return f"{reverse('history:rollback')}?{urlencode(undo)}"


def digest(plan: RollbackPlan) -> str:
    """Identifies the changes of a plan. The form sends it back, to prove that its user has seen this plan."""
    changes = repr([(step.kind, step.name, step.action, tuple(step.differences)) for step in plan.steps])
    return hashlib.sha256(changes.encode()).hexdigest()[:16]


def _shown(
    request: HttpRequest,
    address: Address,
    chosen: MomentForm,
    plan: RollbackPlan | None = None,
    form: RollbackForm | None = None,
    problem: str = "",
) -> HttpResponseBase:
    return show(
        request,
        address,
        "history/rollback.html",
        title="Roll back",
        sentence=_question(plan) if plan else "Choose a moment. Nothing changes before you have seen what would.",
        has_comparison=False,
        has_recorder_notes=False,
        status=400 if problem or (form and form.errors) or (chosen.is_bound and chosen.errors) else 200,
        chosen=chosen,
        moment=f"{timezone.localtime(plan.moment):%Y-%m-%dT%H:%M:%S}" if plan else chosen.data.get("moment", ""),
        plan=plan,
        digest=digest(plan) if plan else "",
        form=form,
        problem=problem,
        this=request.get_full_path(),
    )


def _question(plan: RollbackPlan) -> str:
    when = wording.moment(plan.moment)
    if not plan.steps:
        return f"Nothing to set back: the configuration is as it was on {when}."
    one = plan.steps[0]
    what = "everything" if len(plan.steps) > 1 else f"{one.kind} {one.name}"
    changes, objects = wording.plural(plan.changes, "change"), wording.plural(len(plan.steps), "object")
    return f"Set {what} back to {when}? {changes} in {objects}."
