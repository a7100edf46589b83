"""The list of alert rules, and the form of a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from telemetry import access, events, facts, wording
from telemetry.alert_kinds import RuleKind
from telemetry.alerts import lifecycle, links, trial, words
from telemetry.alerts.conditions import RuleCondition, condition_of, unmatched
from telemetry.alerts.forms import RuleForm, kinds
from telemetry.alerts.look_back import LookBack, look_back
from telemetry.models.alerts import AlertRule
from telemetry.pages.address import Address
from telemetry.pages.alert_list import MAY_CHANGE
from telemetry.pages.alert_states import in_order, shape_of
from telemetry.pages.alert_strips import strips_of_rules
from telemetry.pages.drawings import Drawing, bars
from telemetry.pages.panels import Panel, guarded
from telemetry.pages.shell import page, show
from telemetry.pages.strips import Strip
from telemetry.states import State

LISTED_FIRINGS = 5


@dataclass(frozen=True, slots=True)
class RuleLine:
    rule: AlertRule
    shape: State
    state: str
    sentence: str
    notifies: str
    link: str
    week: Strip | None  # None: no alert in it


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of the rule in the form: its sentence, a warning ("" for none), and its last seven days."""

    sentence: str
    warning: str
    past: Panel["Past"]


class RuleOvertaken(Exception):
    """Another person has changed the rule since the form was opened. `rule`: as it is now."""

    def __init__(self, rule: AlertRule) -> None:
        super().__init__(rule.name)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class TheirChange:
    """A save of the rule that came before this one: by whom, when, and the rule since."""

    by: str
    at: str
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Past:
    headline: str
    firings: Sequence[str]
    more: int
    drawing: Drawing | None
    peak: str
    limit: str
    limit_height: str  # the distance of the limit's line from the top of the drawing


@require_safe
@page()
def rule_list(request: HttpRequest, address: Address) -> HttpResponse:
    rules = list(AlertRule.objects.prefetch_related("channels"))
    week = strips_of_rules(address.now)
    on = sum(rule.is_enabled for rule in rules)
    return show(
        request,
        address,
        "telemetry/alerts/rules.html",
        title="Alert rules",
        sentence=f"{wording.plural(on, 'rule')} of {len(rules)} {'is' if on == 1 else 'are'} on.",
        has_comparison=False,
        lines=[_line(rule, week.get(rule.pk)) for rule in rules],
        may_change=request.user.has_perm(MAY_CHANGE),
    )


def _line(rule: AlertRule, week: Strip | None) -> RuleLine:
    current = in_order(list(rule.alerts.current().select_related("rule")))
    condition = condition_of(rule)
    channels = _told_by(rule)
    worst = current[0] if current else None
    return RuleLine(
        rule=rule,
        shape=shape_of(worst) if worst else (State.OK if rule.is_enabled else State.SILENCED),
        state=str(worst.get_state_display()) if worst else ("Normal" if rule.is_enabled else "Off"),
        sentence=_capital(words.condition_sentence(condition)),
        notifies=", ".join(channels) or "nobody",
        link=links.rule(rule),
        week=week,
    )


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}."


# -- The form -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@page(needs=MAY_CHANGE)
def new_rule(request: HttpRequest, address: Address) -> HttpResponse:
    asked = request.POST.get("kind") or request.GET.get("kind", "")
    kind = RuleKind(asked) if asked in RuleKind.values else RuleKind.ERROR_RATE
    form = RuleForm(request.POST if request.method == "POST" else None, kind=kind)
    return _answered(request, address, form, title="New alert rule")


@require_http_methods(["GET", "HEAD", "POST"])
@page(needs=MAY_CHANGE)
def edit_rule(request: HttpRequest, address: Address, number: int) -> HttpResponse:
    rule = get_object_or_404(AlertRule, pk=number)
    form = RuleForm(request.POST if request.method == "POST" else None, kind=RuleKind(rule.kind), instance=rule)
    return _answered(request, address, form, title=rule.name)


def _answered(request: HttpRequest, address: Address, form: RuleForm, *, title: str) -> HttpResponse:
    """Saves, sends a test or shows the effect, depending on the pressed button."""
    results: list[trial.TrialResult] = []
    version = request.POST.get("version", "") if form.is_bound else _version(form.instance)
    is_valid = form.is_valid() if form.is_bound else False
    theirs = None
    if is_valid and request.POST.get("do") == "save":
        try:
            return _saved(request, form, version)
        except RuleOvertaken as overtaken:
            theirs, version = _their_change(overtaken.rule), _version(overtaken.rule)
    if is_valid and request.POST.get("do") == "test":
        results = trial.send_test(form.rule(), form.ticked(), by=request.user.get_username())
    return show(
        request,
        address,
        "telemetry/alerts/rule.html",
        title=title,
        has_comparison=False,
        form=form,
        kind=form.kind,
        kinds=[(kind, f"{reverse('telemetry:new-alert-rule')}?kind={kind.value}") for kind, _ in kinds()],
        rule=form.instance if form.instance.pk else None,
        version=version,
        theirs=theirs,
        effect=_effect(form.condition(), form.sentence()) if is_valid else _effect_of_start(form),
        test=trial.summary(results) if request.POST.get("do") == "test" and is_valid else "",
        results=results,
        status=409 if theirs else 200 if is_valid or not form.is_bound else 422,
    )


def _version(rule: AlertRule) -> str:
    """Identifies the stored values of a rule; "" for a new one."""
    return rule.changed_at.isoformat() if rule.pk else ""


def _their_change(rule: AlertRule) -> TheirChange:
    return TheirChange(rule.changed_by or "Somebody", wording.moment(rule.changed_at), rule.name, _described(rule))


def _effect_of_start(form: RuleForm) -> Effect | None:
    """The effect of the stored rule, or of the kind's defaults. None after an invalid form, whose errors come first."""
    if form.is_bound:
        return None
    rule = form.instance
    condition = condition_of(rule)
    return _effect(condition, words.rule_sentence(condition, _told_by(rule) if rule.pk else []))


def _told_by(rule: AlertRule) -> list[str]:
    """The channels through which an alert of the rule is sent. An email channel without recipients is none."""
    return [str(channel) for channel in rule.channels.all() if channel.can_send]


def _effect(condition: RuleCondition, sentence: str) -> Effect:
    past = guarded("Last 7 days with this rule", lambda: _past(condition))
    return Effect(sentence, _warning(condition), past)


def _warning(condition: RuleCondition) -> str:
    """Names what matches no tool. The rule may be saved: its tools may come later, or may only be away."""
    unknown = unmatched(condition, facts.tools.all())
    return f"No tool matches {', '.join(f'“{each}”' for each in unknown)} now." if unknown else ""


def _past(condition: RuleCondition) -> Past:
    found: LookBack = look_back(condition, timezone.now())
    if found.unknown:
        return Past(found.unknown, (), 0, None, "", "", "")
    unit = condition.declared.unit
    newest = found.firings[::-1]
    top = max((value for value in found.hours if value is not None), default=0.0)
    highest = max(top, condition.limit) or 1.0
    times = "once" if len(newest) == 1 else f"{len(newest)} times"
    return Past(
        headline=f"Would have fired {times} in the last 7 days."
        if newest
        else "Would not have fired in the last 7 days.",
        firings=[
            f"{wording.minute(each.since)} ({wording.length(each.lasted)}"
            f"{f', {each.subject}' if each.subject else ''}): up to {words.amount(each.peak, unit)}"
            for each in newest[:LISTED_FIRINGS]
        ],
        more=max(0, len(newest) - LISTED_FIRINGS),
        drawing=bars([found.hours], ["s1"], highest=highest),
        peak=words.amount(top, unit),
        limit=words.amount(condition.limit, unit),
        limit_height=f"{100 * (1 - condition.limit / highest):.1f}",
    )


@transaction.atomic
def _saved(request: HttpRequest, form: RuleForm, version: str) -> HttpResponse:
    """`version`: that of the rule when the form was opened. Raises RuleOvertaken."""
    is_new, by, now = form.instance.pk is None, request.user.get_username(), timezone.now()
    before = None if is_new else get_object_or_404(AlertRule.objects.select_for_update(), pk=form.instance.pk)
    if before and _version(before) != version:
        raise RuleOvertaken(before)
    before_words = _described(before) if before else ""
    rule = form.rule()
    rule.changed_by, rule.changed_at = by, now
    form.save()
    if before and _watches(before) != _watches(rule):
        for alert in rule.alerts.current():
            lifecycle.end(alert, f"The rule was changed by {by}.", now)
    _record_change(rule, "added" if is_new else "changed", by, before=before_words, after=_described(rule))
    messages.success(request, f"Saved {rule.name}. The next check, within 15 seconds, uses it.")
    if warning := _warning(condition_of(rule)):
        messages.warning(request, warning)
    return HttpResponseRedirect(reverse("telemetry:alert-rules"))


def _record_change(rule: AlertRule, verb: str, by: str, *, before: str = "", after: str = "") -> None:
    """Records the change, which charts show as the mark C."""
    events.record(
        kind=events.EventKind.CHANGE,
        subject_type="alert rule",
        subject=rule.name,
        summary=f"alert rule {rule.name} {verb}",
        actor=by,
        before=before,
        after=after,
        link=links.rule(rule) if rule.pk else "",
    )


def _watches(rule: AlertRule) -> tuple[Any, ...]:
    """The fields that decide which alerts a rule has."""
    return rule.per, rule.tools, rule.connectors, rule.upstreams, tuple(rule.limits_by_tool)


def _described(rule: AlertRule) -> str:
    return ("" if rule.is_enabled else "Off. ") + words.rule_sentence(condition_of(rule), _told_by(rule))


# -- Switching and deleting ---------------------------------------------------------------------------


@require_POST
def switch_rule(request: HttpRequest, number: int) -> HttpResponse:
    """Field `to`: on or off."""
    if refused := access.refusal(request, MAY_CHANGE):
        return refused  # type: ignore[return-value]
    rule = get_object_or_404(AlertRule, pk=number)
    rule.is_enabled = request.POST.get("to") == "on"
    word, by = "on" if rule.is_enabled else "off", request.user.get_username()
    rule.changed_by, rule.changed_at = by, timezone.now()
    rule.save(update_fields=["is_enabled", "changed_by", "changed_at"])
    _record_change(rule, f"switched {word}", by)
    messages.success(request, f"{rule.name} is {word}.")
    return HttpResponseRedirect(reverse("telemetry:alert-rules"))


@require_POST
def delete_rule(request: HttpRequest, number: int) -> HttpResponse:
    """Shipped rules can only be switched off, because the next migration would create them again."""
    if refused := access.refusal(request, MAY_CHANGE):
        return refused  # type: ignore[return-value]
    rule = get_object_or_404(AlertRule, pk=number, shipped_as=None)
    rule.delete()
    _record_change(rule, "deleted", request.user.get_username())
    messages.success(request, f"Deleted {rule.name} with its alerts.")
    return HttpResponseRedirect(reverse("telemetry:alert-rules"))
