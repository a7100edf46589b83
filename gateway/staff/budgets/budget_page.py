"""The page of one budget: what is in force, where it is from, the new values, their effect, and the save."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from context_protection.configuration import policies
from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import Breadth, BudgetScope
from context_protection.layers.budgets import Budgets
from context_protection.layers.declarations import declared
from context_protection.models import TokenBudget
from context_protection.reasons import LONGEST_REASON, REASON, reason_in
from gateway.staff.budgets import scopes, storage
from gateway.staff.budgets.as_rollout import ADD_ROLLOUT, new_rollout
from gateway.staff.budgets.form import BudgetForm
from gateway.staff.budgets.proposal import MOST_DIGITS, proposed
from gateway.staff.budgets.real_call import READ, real_call
from gateway.staff.budgets.settings_table import concerns, groups_of
from gateway.staff.history.change_list import SEE as SEE_HISTORY
from gateway.staff.preview.effect import effect
from gateway.staff.preview.forecast import Forecast
from telemetry import access, facts, wording
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.recommendation import Recommendation, recommendation
from telemetry.pages.shell import page, show

SEE = "context_protection.view_tokenbudget"
CHANGE = "context_protection.change_tokenbudget"
SHOW, SAVE, REMOVE, ROLL_OUT = "show", "save", "remove", "roll-out"


@page(needs=SEE)
@require_http_methods(["GET", "HEAD", "POST"])
def budget(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    scope = _scope(request, name)
    posted = request.POST if request.method == "POST" else None
    form = _form(request, scope, posted)
    if posted is None:
        return _shown(request, address, form)
    if posted.get("do") == ROLL_OUT and (link := new_rollout(form)):
        return HttpResponseRedirect(link)
    if posted.get("do") not in (SAVE, REMOVE):
        return _shown(request, address, form)
    if refused := access.refusal(request, CHANGE):
        return refused
    try:
        if posted.get("do") == REMOVE:
            saved = storage.remove(scope, reason_in(posted), opened_at=_opened_at(request))
        elif form.check_saving():
            saved = storage.save(form, opened_at=_opened_at(request))
        else:
            return _shown(request, address, form)
    except storage.Overtaken as overtaken:
        return _shown(request, address, form, overtaken=overtaken)
    return _after(request, scope, saved)


@page(needs=CHANGE)
@require_POST
def undo(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    """POST field: `version`, the newest version of the budget's history."""
    scope, version = _scope(request, name), _opened_at(request)
    if not version:
        messages.error(
            request, "Nothing to undo: the form names no version. Open the budget's page, and press Undo there."
        )
        return HttpResponseRedirect(scopes.link_to(scope))
    try:
        return _after(request, scope, storage.undo(scope, version))
    except storage.Overtaken as overtaken:
        messages.error(request, f"Not undone: {_who(overtaken.version)} since then.")
    except ValidationError as error:
        messages.error(
            request, f"Not undone, because the earlier values are no longer valid: {' '.join(error.messages)}"
        )
    return HttpResponseRedirect(scopes.link_to(scope))


def _scope(request: HttpRequest, name: str) -> BudgetScope:
    """Raises Http404."""
    scope = scopes.scope_at(name, request.GET.get("caller", ""))
    if scope is None:
        raise Http404
    return scope


def _form(request: HttpRequest, scope: BudgetScope, posted: Any) -> BudgetForm:
    given = {"operation": scope.operation, "connector": scope.connector, "caller": scope.caller}
    instance = TokenBudget.objects.filter(**given).first() or TokenBudget(**given)
    names = frozenset(name for name, setting in SETTINGS.items() if concerns(setting, scope))
    return BudgetForm(posted, instance=instance, names=names, initial=proposed(request.GET, names))


def _opened_at(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else 0


def _after(request: HttpRequest, scope: BudgetScope, saved: storage.SavedBudget) -> HttpResponse:
    messages.success(request, saved.sentence)
    link = scopes.link_to(scope)
    return HttpResponseRedirect(f"{link}{'&' if '?' in link else '?'}saved={saved.version}")


def _recommended(address: Address, scope: BudgetScope) -> Recommendation | None:
    """None unless the scope is one existing tool for all keys."""
    is_one = scope.breadth is Breadth.OPERATION and not scope.caller
    return recommendation(address, facts.tools.get(scope.operation)) if is_one else None


def _taken(form: BudgetForm, advice: Recommendation) -> list[tuple[str, str]]:
    """The fields of a form that saves the recommendation: the stored values, the recommended ones in their place, and
    the reason."""
    kept = {name: str(value) for name, value in form.stored.items() if value is not None and name in form.names}
    reason = f"Recommendation. {advice.basis}"[:LONGEST_REASON]
    return [*{**kept, **advice.values}.items(), (REASON, reason)]


# -- What the page shows ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EffectRow:
    """A figure of the recorded calls under both budgets."""

    label: str
    now: str
    new: str
    change: str
    tone: str = ""


def _shown(
    request: HttpRequest, address: Address, form: BudgetForm, overtaken: storage.Overtaken | None = None
) -> HttpResponse:
    scope, now = form.scope, policies.budgets()
    is_valid = form.is_bound and form.has_valid_values
    linked = {} if form.is_bound else proposed(request.GET, form.names)
    new = now.with_budget(scope, form.values if is_valid else {**form.stored, **linked}) if is_valid or linked else now
    newest = storage.newest_version(scope)
    first, groups = groups_of(scope, now, form)
    recommended = guarded("Recommendation", lambda: _recommended(address, scope))
    forecast = guarded("The newest calls with the new values", lambda: effect(scope, now, new))
    return show(
        request,
        address,
        "budgets/budget.html",
        title=f"Budget of {scopes.title_of(scope)}",
        has_comparison=False,
        has_recorder_notes=False,
        form=form,
        scope=scope,
        first=first,
        groups=groups,
        forecast=forecast,
        rows=_rows(forecast.content) if forecast.content else (),
        effect_sentence=_sentence(forecast.content, is_new=new is not now) if forecast.content else "",
        real=real_call(request, scope, now, new),
        version=overtaken.version.history_id if overtaken else _opened_at(request) if form.is_bound else _pk(newest),
        overtaken=_who(overtaken.version) if overtaken else "",
        theirs=storage.differences(_layer(overtaken.version), form.values) if overtaken else (),
        may_change=request.user.has_perm(CHANGE),
        may_roll_out=request.user.has_perm(ADD_ROLLOUT) and not scope.caller,
        is_saved=form.instance.pk is not None,
        undoable=_undoable(request, newest),
        history=_history_link(request, form),
        stronger=_stronger(scope, now),
        recommended=recommended,
        taken=_taken(form, recommended.content) if recommended.content else (),
        tools=sorted(declared),
        budgets=reverse("budgets:budgets"),
        this=scopes.link_to(scope),
        status=422 if form.errors and request.POST.get("do") in (SAVE, REMOVE, SHOW, READ, ROLL_OUT) else 200,
    )


def _pk(version: Any | None) -> int:
    return 0 if version is None else int(version.history_id)


def _layer(version: Any) -> dict[str, Any]:
    is_gone = version.history_type == "-"
    return {name: None if is_gone else getattr(version, name) for name in SETTINGS}


def _who(version: Any) -> str:
    """ops-1 saved revision 215"""
    by = version.history_user.get_username() if version.history_user else "somebody"
    return f"{by} {'removed it as' if version.history_type == '-' else 'saved'} revision {version.history_id}"


def _undoable(request: HttpRequest, newest: Any | None) -> int:
    """The version that was just saved, if it is still the newest."""
    return _pk(newest) if newest is not None and request.GET.get("saved") == str(newest.history_id) else 0


def _history_link(request: HttpRequest, form: BudgetForm) -> str:
    """The changes of this budget; "" for those who may not see them, or if there never was one."""
    if not request.user.has_perm(SEE_HISTORY) or storage.newest_version(form.scope) is None:
        return ""
    return f"{reverse('history:history')}?{urlencode({'object': str(form.instance), 'range': '90d'})}"


def _stronger(scope: BudgetScope, now: Budgets) -> list[tuple[str, str]]:
    """The title and link of each budget that overrides this one for some of its calls."""
    others = [each for each in now.admin if each.rank > scope.rank and _overlap(each, scope)]
    return [(scopes.title_of(each), scopes.link_to(each)) for each in sorted(others, key=lambda each: each.rank)]


def _overlap(other: BudgetScope, scope: BudgetScope) -> bool:
    if scope.caller and other.caller != scope.caller:
        return False
    if scope.breadth is Breadth.ALL or other.breadth is Breadth.ALL:
        return True
    return bool(set(scopes.covered(BudgetScope(other.operation, other.connector))) & set(scopes.covered(scope)))


def _sentence(found: Forecast, *, is_new: bool) -> str:
    """31 of the last 200 calls would be shorter: 212k → 89k tokens. None would be refused."""
    if not found.calls:
        return "No calls in 30 days, so there is no forecast. You can paste a response below."
    if not is_new:
        return "This is how these calls are answered now. Type a new value to see its effect."
    if not found.changed:
        return f"None of the last {wording.plural(found.calls, 'call')} would be answered differently."
    now, new = found.now.tokens, found.new.tokens
    how = "answered differently" if now == new else "longer" if new > now else "shorter"
    refused = f"{wording.whole(found.new.refused)} would be refused." if found.new.refused else "None would be refused."
    return (
        f"{wording.whole(found.changed)} of the last {wording.plural(found.calls, 'call')} would be {how}: "
        f"{wording.short(now)} → {wording.short(new)} tokens. {refused}"
    )


def _rows(found: Forecast) -> list[EffectRow]:
    counts = [
        EffectRow(label, wording.whole(now), wording.whole(new), _difference(now, new))
        for label, now, new in (
            ("shortened", found.now.shortened, found.new.shortened),
            ("paged", found.now.paged, found.new.paged),
            ("refused", found.now.refused, found.new.refused),
        )
    ]
    now, new = found.now.tokens, found.new.tokens
    change = wording.change(new, now)
    tone = "" if change in (wording.NOTHING, "0%") else "worse" if new > now else "better"
    return [*counts, EffectRow("tokens sent", wording.short(now), wording.short(new), change, tone)]


def _difference(now: int, new: int) -> str:
    return "0" if now == new else f"{'+' if new > now else wording.MINUS}{abs(new - now):,}"
