"""The page of one alert: its value against its limit, its history, and the actions of people."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from telemetry import access, queries, wording
from telemetry.alert_kinds import LimitUnit, Per, RuleKind
from telemetry.alert_states import AlertState
from telemetry.alerts import actions, links, words
from telemetry.alerts.conditions import RuleCondition, condition_of_alert
from telemetry.alerts.readings.measures import MEASURES, filters, measured
from telemetry.models.alerts import Alert, AlertTransition
from telemetry.pages import charts
from telemetry.pages.address import Address
from telemetry.pages.alert_list import MAY_CHANGE, line_of
from telemetry.pages.alert_states import shape_of
from telemetry.pages.alert_strips import strip_of_alert
from telemetry.pages.call_rows import clock_with_seconds
from telemetry.pages.marks import marks
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.queries import Selection, Span
from telemetry.states import State

BEFORE = timedelta(hours=1)
CHANGES = "CDF"  # kinds of marks that may be the cause: changes, deployments, the tool list
CHART_UNITS = {LimitUnit.SHARE: "share", LimitUnit.MILLISECONDS: "ms", LimitUnit.COUNT: "count"}


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line of “What happened”."""

    at: str
    what: str
    shape: State | None = None
    detail: str = ""


@require_safe
@page(default_refresh=10)
def alert_page(request: HttpRequest, address: Address, number: int) -> HttpResponse:
    alert = get_object_or_404(Alert.objects.select_related("rule"), pk=number)
    now = timezone.now()
    condition = condition_of_alert(alert)
    seen = address.at(alert.started_at - BEFORE, alert.ended_at or now)
    return show(
        request,
        address,
        "telemetry/alerts/alert.html",
        title=alert.title,
        state=shape_of(alert),
        sentence=_sentence(alert, now),
        has_comparison=False,
        alert=alert,
        line=line_of(alert, now),
        condition=f"It fires when {words.condition_sentence(condition)}. {words.recovery_sentence(condition)}",
        chart=guarded("Value and limit", lambda: _chart(alert, condition, seen)) if _has_chart(condition) else None,
        strip=strip_of_alert(alert, seen.span[0], now),
        steps=_steps(alert, now),
        changes=[each for each in marks(alert.started_at - BEFORE, alert.started_at) if each.kind in CHANGES],
        runbook=links.runbook(alert.rule),
        rule_link=links.rule(alert.rule),
        may_change=request.user.has_perm(MAY_CHANGE),
        needs=access.SEE_CALLS,
        return_to=request.get_full_path(),
    )


def _sentence(alert: Alert, now: datetime) -> str:
    if alert.ended_at:
        began = alert.fired_at or alert.started_at
        return f"Ended at {wording.moment(alert.ended_at)}, after {wording.length(alert.ended_at - began)}."
    since = alert.fired_at if alert.is_firing and alert.fired_at else alert.since
    return f"{alert.get_state_display()} since {wording.moment(since)} ({wording.age(now - since)})."


# -- What happened ------------------------------------------------------------------------------------


def _steps(alert: Alert, now: datetime) -> list[HistoryLine]:
    steps: list[tuple[datetime, HistoryLine]] = []
    for transition in alert.transitions.prefetch_related("notifications__channel"):
        steps.append((transition.at, _step(alert, transition, now)))
        for sent in transition.notifications.all():
            at = sent.sent_at or sent.queued_at
            tried = f", {words.plural(sent.attempts, 'attempt')}" if sent.attempts > 1 else ""
            delivery = f"{sent.channel}: {sent.get_state_display().lower()}{tried}"
            steps.append((at, HistoryLine(clock_with_seconds(at, now), delivery, detail=sent.result)))
    return [step for _, step in sorted(steps, key=lambda step: step[0])]


def _step(alert: Alert, transition: AlertTransition, now: datetime) -> HistoryLine:
    if transition.what != AlertTransition.What.STATE:
        done = f"{transition.get_what_display()} by {transition.by}"
        return HistoryLine(clock_with_seconds(transition.at, now), done, detail=transition.message)
    state = AlertState(transition.after)
    word = "Ended" if state is AlertState.NORMAL else str(state.label)
    return HistoryLine(clock_with_seconds(transition.at, now), word, shape_of(alert, state), transition.message)


# -- Chart --------------------------------------------------------------------------------------------


def _has_chart(condition: RuleCondition) -> bool:
    return condition.kind in MEASURES


def _chart(alert: Alert, condition: RuleCondition, seen: Address) -> charts.Chart:
    """The value in each interval. The rule itself is evaluated over overlapping windows of its own length."""
    since, until = seen.span
    span = Span.of(since, until)
    chosen = filters(condition)
    if condition.kind is RuleKind.UPSTREAM_DOWN:
        chosen, condition = {"upstream": [alert.subject]}, replace(condition, origins=("upstream",))
    elif alert.subject:
        chosen |= {"upstream" if condition.per is Per.UPSTREAM else "tool": [alert.subject]}
    series = queries.series(span, Selection.of(chosen))
    unit = condition.declared.unit
    return charts.chart(
        seen,
        key="value",
        title="Value and limit",
        unit=CHART_UNITS[unit],
        kind="lines",
        lines=[charts.Line("Value", "s1", tuple(measured(each.figures, condition).value for each in series.buckets))],
        starts=[bucket.start for bucket in series.buckets],
        step=series.step,
        marks=marks(since, until),
        limit=alert.limit,
        limit_label=f"limit {words.amount(alert.limit, unit)}",
    )


# -- Actions ------------------------------------------------------------------------------------------


@require_POST
def acknowledge(request: HttpRequest, number: int) -> HttpResponse:
    if refused := access.refusal(request, MAY_CHANGE):
        return refused  # type: ignore[return-value]
    alert = get_object_or_404(Alert, pk=number)
    if alert.ended_at is not None:
        return _ended_already(request, number)
    if alert.acknowledged_at is not None:
        messages.error(request, f"{alert.acknowledged_by} has acknowledged it already, so nothing was changed.")
        return _back(request, number)
    actions.acknowledge(alert, by=request.user.get_username(), note=request.POST.get("note", ""), now=timezone.now())
    messages.success(request, "Acknowledged. Notifications of this alert stop; it stays open until it recovers.")
    return _back(request, number)


@require_POST
def silence(request: HttpRequest, number: int) -> HttpResponse:
    """The field `until` is 1h, 4h, 7d, 08:00 in the page's time zone, or end."""
    if refused := access.refusal(request, MAY_CHANGE):
        return refused  # type: ignore[return-value]
    alert = get_object_or_404(Alert, pk=number)
    if alert.ended_at is not None:
        return _ended_already(request, number)
    now, by = timezone.now(), request.user.get_username()
    wanted = request.POST.get("until", "")
    if wanted == "end":
        actions.end_silence(alert, by=by, now=now)
        messages.success(request, "The silence has ended. Notifications are sent again.")
        return _back(request, number)
    zone = ZoneInfo(Address.of(request).zone)
    until = end_of_silence(wanted, now, zone)
    if until is None:
        messages.error(request, f"until={wanted[:40]!r} is not a valid time. Expected: 1h, 4h, 08:00 or 7d.")
        return _back(request, number)
    actions.silence(alert, by=by, until=until, now=now)
    end = f"{until.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"
    messages.success(request, f"Silenced until {end}. It is still checked and shown.")
    return _back(request, number)


def end_of_silence(wanted: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    match wanted:
        case "1h" | "4h":
            return now + timedelta(hours=int(wanted[0]))
        case "7d":
            return now + actions.LONGEST_SILENCE
        case "08:00":
            local = now.astimezone(zone)
            eight = local.replace(hour=8, minute=0, second=0, microsecond=0)
            return eight if eight > local else eight + timedelta(days=1)
        case _:
            return None


def _ended_already(request: HttpRequest, number: int) -> HttpResponse:
    """Alerts end while people look at their buttons."""
    messages.error(request, "The alert has ended, so nothing was changed.")
    return _back(request, number)


def _back(request: HttpRequest, number: int) -> HttpResponse:
    page_of_alert = reverse("telemetry:alert", args=(number,))
    wanted = request.POST.get("return_to", "")
    is_ours = wanted.startswith("/telemetry/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return HttpResponseRedirect(wanted if is_ours else page_of_alert)
