"""The pages of rollouts: all of them, a new one, and one with its guardrails, its steps and its log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import ANY, BudgetScope
from context_protection.reasons import REASON_NEEDED, reason_in
from gateway.staff.budgets import budget_page, scopes
from gateway.staff.rollouts import steps
from gateway.staff.rollouts.assignment import is_included
from gateway.staff.rollouts.evaluation import check_interval, judged, next_check
from gateway.staff.rollouts.forms import RolloutForm
from gateway.staff.rollouts.guardrails import GuardrailReading, Standing
from gateway.staff.rollouts.models import Rollout, RolloutState
from gateway.staff.rollouts.new_page import NewPage
from telemetry import access, wording
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.states import State

SEE, ADD, CHANGE = "rollouts.view_rollout", "rollouts.add_rollout", "rollouts.change_rollout"
STATES: Mapping[str, State] = {
    RolloutState.RUNNING: State.PENDING,
    RolloutState.PAUSED: State.SILENCED,
    RolloutState.DONE: State.OK,
    RolloutState.ROLLED_BACK: State.DEGRADED,
}
STANDINGS: Mapping[Standing, State] = {
    Standing.WITHIN: State.OK,
    Standing.OPEN: State.PENDING,
    Standing.OVER: State.DOWN,
    Standing.UNKNOWN: State.NO_DATA,
}


@dataclass(frozen=True, slots=True)
class RolloutAction:
    """A button. `states`: in which it is offered. `message`: shown after the action."""

    label: str
    states: tuple[RolloutState, ...]
    run: Callable[[int, str], Rollout]
    message: str


ENDED = "Done. The values are budgets now, for all callers."  # after the last step
ACTIONS: Mapping[str, RolloutAction] = {
    "start": RolloutAction("Start", (RolloutState.DRAFT,), steps.start, "Started."),
    "pause": RolloutAction("Pause", (RolloutState.RUNNING,), steps.pause, "Paused. Callers keep their values."),
    "resume": RolloutAction("Resume", (RolloutState.PAUSED,), steps.resume, "Running again."),
    "next": RolloutAction(
        "Next step now", (RolloutState.RUNNING, RolloutState.PAUSED), steps.advance, "The next step has begun."
    ),
    "abort": RolloutAction(
        "Abort",
        (RolloutState.RUNNING, RolloutState.PAUSED),
        steps.abort,
        "Aborted. Every caller has the earlier values again.",
    ),
}


@page(needs=SEE)
@require_safe
def rollouts(request: HttpRequest, address: Address) -> HttpResponseBase:
    found = list(Rollout.objects.all())
    running = sum(each.state == RolloutState.RUNNING for each in found)
    return show(
        request,
        address,
        "rollouts/rollouts.html",
        title="Rollouts",
        sentence=f"{wording.plural(running, 'rollout')} running." if running else "No rollout is running.",
        has_comparison=False,
        has_recorder_notes=False,
        rows=[(each, STATES.get(each.state), values_of(each), _share_words(each)) for each in found],
        may_add=request.user.has_perm(ADD),
    )


NEW_ROLLOUT = NewPage(
    RolloutForm,
    "rollouts/new.html",
    title="New rollout",
    sentence="Some callers get new values first; more follow while nothing becomes worse.",
    made="rollouts:rollout",
)


@page(needs=ADD)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, address: Address) -> HttpResponseBase:
    """The query string may fill in fields and settings by name."""
    return NEW_ROLLOUT.answer(request, address, RolloutForm.filled_in(request.GET))


@page(needs=SEE, default_refresh=60)
@require_safe
def rollout(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    found = get_object_or_404(Rollout, name=name)
    panel = guarded("Guardrails", lambda: judged(found, timezone.now()) if found.is_in_force else None)
    callers = steps.active_callers()
    included = sorted(each for each in callers if is_included(found.salt, each, found.cutoff))
    return show(
        request,
        address,
        "rollouts/rollout.html",
        title=found.name,
        tab=f"Rollout {found.name}",
        sentence=_sentence(found, len(included), len(callers)),
        has_comparison=False,
        has_recorder_notes=False,
        rollout=found,
        values=values_of(found),
        first_step=_first_step_words(found, len(callers)),
        previews=_previews(found) if access.may_see(request, budget_page.SEE) else (),
        line=[
            (share, number < found.step or found.state == RolloutState.DONE, number == found.step and found.is_in_force)
            for number, share in enumerate(found.steps)
        ],
        checks=_checks(found, timezone.now()),
        panel=panel,
        guardrails=[_row(each) for each in panel.content.readings] if panel.content else [],
        included=included[:50] if found.is_in_force else [],
        log=[
            (wording.moment(each.history_date), each.history_user, _log_words(each))
            for each in found.history.all()[:50]
        ],
        actions=_actions(request, found),
    )


@page(needs=CHANGE)
@require_POST
def act(request: HttpRequest, address: Address, name: str, action: str) -> HttpResponseBase:
    """POST fields: `reason`, and `step`, which the page showed."""
    found = get_object_or_404(Rollout, name=name)
    chosen = ACTIONS.get(action)
    if chosen is None:
        raise Http404
    back = HttpResponseRedirect(reverse("rollouts:rollout", args=[name]))
    reason = reason_in(request.POST, "reason")
    if not reason:
        messages.error(request, REASON_NEEDED)
        return back
    try:
        changed = _run_at(request, chosen)(found.pk, reason)
        messages.success(request, ENDED if changed.state == RolloutState.DONE else chosen.message)
    except steps.StepRefused as refused:
        messages.error(request, str(refused))
    except ValidationError as error:
        messages.error(request, f"The values cannot become a budget: {' '.join(error.messages)}")
    return back


def _run_at(request: HttpRequest, action: RolloutAction) -> Callable[[int, str], Rollout]:
    """The action, for the step that the page showed: another person, or a check, may have gone on since."""
    seen = request.POST.get("step", "")[:5]
    if action.run is steps.advance and seen.isdecimal():
        return partial(steps.advance, seen_step=int(seen))
    return action.run


def values_of(found: Rollout) -> list[tuple[str, str]]:
    return [
        (SETTINGS[name].canonical_name, SETTINGS[name].shown(value))
        for name, value in found.values.items()
        if name in SETTINGS
    ]


LATE = timedelta(minutes=1)  # after which an overdue check suggests that beat is not running


def _checks(found: Rollout, now: datetime) -> str:
    """Checked 14:02:37; the next check is at 14:03:07, every 30 seconds. The next step begins at 14:31:00 at the
    earliest."""
    checked = f"Checked {wording.moment(found.checked_at)}. " if found.checked_at else ""
    due = next_check(found, now)
    if due is None:
        return f"{checked}No check while it is paused." if found.state == RolloutState.PAUSED else ""
    if now - due > LATE:
        return f"{checked}The next check was due at {wording.moment(due)}: is beat running?"
    every = wording.plural(check_interval(found, now).seconds, "second")
    checks = f"{checked}Next check at {wording.moment(max(due, now))}, every {every}."
    earliest = found.earliest_next
    if earliest is None or earliest <= now or found.is_last_step:
        return checks
    return f"{checks} The next step begins at {wording.moment(earliest)} at the earliest."


def _previews(found: Rollout) -> list[tuple[str, str]]:
    """For each pattern, the page of its budget with the values filled in, which shows their effect."""
    values = urlencode(found.values)
    return [
        (pattern or "all tools", f"{scopes.link_to(BudgetScope('' if pattern == ANY else pattern))}?{values}")
        for pattern in found.patterns or ("",)
    ]


def _first_step_words(found: Rollout, callers: int) -> str:
    """Why the first step has more callers than its share; "" if it does not."""
    is_first = found.state == RolloutState.DRAFT or (found.is_in_force and found.step == 0)
    share = found.steps[0]
    if not is_first or not callers or share * callers >= 50:
        return ""
    who = wording.plural(callers, "caller")
    return f"{share}% of {who} is less than one; the first step includes 1 caller ({100 / callers:.0f}%)."


def _actions(request: HttpRequest, found: Rollout) -> list[tuple[str, RolloutAction]]:
    if not access.may_see(request, CHANGE):
        return []
    return [(name, each) for name, each in ACTIONS.items() if found.state in each.states]


def _share_words(found: Rollout) -> str:
    return f"step {found.step + 1} of {len(found.steps)}, {found.share}%" if found.is_in_force else ""


def _sentence(found: Rollout, included: int, callers: int) -> str:
    if found.state == RolloutState.DRAFT:
        return "A draft. Nothing changes before it is started."
    if not found.is_in_force:
        return f"{found.get_state_display()}. {found.verdict}"
    have = "has" if included == 1 else "have"
    who = f"{included} of {wording.plural(callers, 'caller')} {have} it, always the same ones."
    since = f" since {wording.moment(found.step_since)}" if found.step_since else ""
    return f"{found.get_state_display()}, {_share_words(found)}{since}. {who}"


@dataclass(frozen=True, slots=True)
class GuardrailRow:
    title: str
    control: str
    treated: str
    difference: str
    limit: str
    state: State
    words: str


def _row(each: GuardrailReading) -> GuardrailRow:
    return GuardrailRow(
        each.title,
        wording.share(each.control),
        wording.share(each.treated),
        _interval(each),
        f"{100 * each.limit:+.1f}",
        STANDINGS[each.standing],
        str(each.standing),
    )


def _interval(each: GuardrailReading) -> str:
    value, low, high = (100 * number for number in (each.difference.value, each.difference.low, each.difference.high))
    if each.standing is Standing.UNKNOWN or low == float("-inf"):
        return wording.NOTHING
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})".replace("-", wording.MINUS)


def _log_words(version: Any) -> str:
    state = RolloutState(version.state).label
    step = (
        f", step {version.step + 1} of {len(version.steps)}"
        if version.state in (RolloutState.RUNNING, RolloutState.PAUSED)
        else ""
    )
    return f"{state}{step}{f': {version.history_change_reason}' if version.history_change_reason else ''}"
