"""The pages of experiments: all of them, a new one, and one with its checks, its measures and its end."""

from dataclasses import asdict, dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context_protection.reasons import REASON_NEEDED, reason_in
from gateway.staff.experiments import figures, states
from gateway.staff.experiments.forms import ExperimentForm
from gateway.staff.experiments.measures import (
    ENOUGH_CALLERS,
    MEASURES_OF_EXPERIMENTS,
    ExperimentReport,
    MeasureResult,
    MeasureWord,
    report,
    word_for,
)
from gateway.staff.experiments.models import Experiment, ExperimentState
from gateway.staff.experiments.shadow_report import NOT_KNOWN, PairedMeasure, ShadowReport, shadow_report
from gateway.staff.rollouts.new_page import NewPage
from gateway.staff.rollouts.statistics import ConfidenceInterval
from telemetry import access, wording
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show

SEE, ADD, CHANGE = "experiments.view_experiment", "experiments.add_experiment", "experiments.change_experiment"
ACTIONS = {"start": states.start, "end": states.end}
WIDTH, MIDDLE = 120, 60  # of an interval's drawing; its ends are ±100 % or ±10 points
TOO_EARLY = f"{MeasureWord.TOO_EARLY}: both arms need {ENOUGH_CALLERS} callers"


@require_safe
@page(needs=SEE)
def experiments(request: HttpRequest, address: Address) -> HttpResponseBase:
    found = list(Experiment.objects.all())
    running = sum(each.state == ExperimentState.RUNNING for each in found)
    return show(
        request,
        address,
        "experiments/experiments.html",
        title="Experiments",
        sentence=f"{wording.plural(running, 'experiment')} running." if running else "No experiment is running.",
        has_comparison=False,
        has_recorder_notes=False,
        rows=[(each, _day(each)) for each in found],
        may_add=request.user.has_perm(ADD),
    )


NEW_EXPERIMENT = NewPage(
    ExperimentForm,
    "experiments/new.html",
    title="New experiment",
    sentence="Protection is off for half of the callers, and in shadow mode for none. The hard cap stays on, and "
    "secrets are always withheld.",
    made="experiments:experiment",
)


@page(needs=ADD)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, address: Address) -> HttpResponseBase:
    return NEW_EXPERIMENT.answer(request, address)


@require_safe
@page(needs=SEE)
def experiment(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    found = get_object_or_404(Experiment, name=name)
    if found.is_shadow:
        return _shadow(request, address, found)
    panel = guarded("Measures", lambda: measured(found) if found.started_at else None)
    shown: ExperimentReport | None = panel.content
    return _show(
        request,
        address,
        "experiments/experiment.html",
        found,
        sentence=_sentence(found, shown),
        panel=panel,
        report=shown,
        rows=[_row(each) for each in shown.results] if shown else [],
    )


def _shadow(request: HttpRequest, address: Address, found: Experiment) -> HttpResponseBase:
    panel = guarded("Sizes", lambda: shadow_report(found) if found.started_at else None)
    known: ShadowReport | None = panel.content
    return _show(
        request,
        address,
        "experiments/shadow.html",
        found,
        sentence=_shadow_sentence(found, known),
        panel=panel,
        report=known,
        rows=[_paired_row(each) for each in known.measures] if known else [],
        not_known=NOT_KNOWN,
    )


def _show(request: HttpRequest, address: Address, template: str, found: Experiment, **content: Any) -> HttpResponseBase:
    """The page of one experiment: its question, log and next action besides the content."""
    return show(
        request,
        address,
        template,
        title=found.question,
        tab=f"Experiment {found.name}",
        has_comparison=False,
        has_recorder_notes=False,
        experiment=found,
        enough=ENOUGH_CALLERS,
        log=_log(found),
        action=_action(request, found),
        **content,
    )


@page(needs=CHANGE)
@require_POST
def act(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    """POST fields: `do` (start or end) and `reason`."""
    found = get_object_or_404(Experiment, name=name)
    reason, wanted = reason_in(request.POST, "reason"), request.POST.get("do", "")
    if wanted not in ACTIONS:
        messages.error(request, f"do={wanted[:40]!r} is not an action. Expected: start or end.")
    elif not reason:
        messages.error(request, REASON_NEEDED)
    else:
        try:
            ACTIONS[wanted](found.pk, reason)
            messages.success(request, "Done. The next call obeys.")
        except states.StateRefused as refused:
            messages.error(request, str(refused))
    return HttpResponseRedirect(reverse("experiments:experiment", args=[name]))


def measured(found: Experiment) -> ExperimentReport:
    """Queries the database."""
    return report(figures.sides(found), found.main_measure)


def document(found: Experiment) -> dict[str, Any]:
    """The report as JSON."""
    return _shadow_document(found) if found.is_shadow else _split_document(found)


def _about(found: Experiment) -> dict[str, Any]:
    return {
        "name": found.name,
        "question": found.question,
        "state": found.state,
        "startedAt": found.started_at,
        "endedAt": found.ended_at,
        "mode": "shadow" if found.is_shadow else "split",
    }


def _split_document(found: Experiment) -> dict[str, Any]:
    known = measured(found)
    return {
        **_about(found),
        "mainMeasure": found.main_measure,
        "calls": known.calls,
        "callers": {"on": known.on_callers, "off": known.off_callers},
        "splitIsOff": known.split_is_off,
        "measures": [
            {
                "name": each.name,
                "off": each.off,
                "on": each.on,
                "difference": _numbers(each.difference),
                "unit": "points" if each.is_share else "share of off",
                "word": str(each.word),
            }
            for each in known.results
        ],
    }


def _shadow_document(found: Experiment) -> dict[str, Any]:
    known = shadow_report(found)
    return {
        **_about(found),
        "calls": known.calls,
        "callers": known.callers,
        "notSized": {"busy": known.dropped, "dataNotInHand": known.unknown},
        "intervalBy": "caller" if known.is_by_caller else "call",
        "measures": [
            {
                "name": each.name,
                "off": each.off,
                "on": each.on,
                "difference": _numbers(each.difference),
                "unit": "share of off",
            }
            for each in known.measures
        ],
        "on": asdict(known.on),
        "off": asdict(known.off),
        "notKnown": NOT_KNOWN,
    }


def _numbers(found: ConfidenceInterval | None) -> list[float] | None:
    return None if found is None else [found.value, found.low, found.high]


def _log(found: Experiment) -> list[tuple[str, Any]]:
    return [(wording.moment(each.history_date), each) for each in found.history.all()[:20]]


def _action(request: HttpRequest, found: Experiment) -> str:
    if not access.may_see(request, CHANGE):
        return ""
    return {ExperimentState.DRAFT: "start", ExperimentState.RUNNING: "end"}.get(ExperimentState(found.state), "")


def _day(found: Experiment) -> str:
    if not found.started_at:
        return ""
    days = ((found.ended_at or timezone.now()) - found.started_at).days + 1
    return f"day {days} of {found.planned_days}"


def _sentence(found: Experiment, known: ExperimentReport | None) -> str:
    if known is None:
        return "A draft. Nothing changes before it is started."
    state = f"{found.get_state_display()}, {_day(found)}."
    main = known.results[0]
    if main.word is MeasureWord.NO_VERDICT:
        return f"{state} The split is off, so no verdict is shown."
    if main.word is MeasureWord.TOO_EARLY:
        callers = f"{main.on_callers} and {main.off_callers} {MEASURES_OF_EXPERIMENTS[main.name].who}"
        return f"{state} Too early: {callers} so far, both arms need {ENOUGH_CALLERS}."
    if main.word is MeasureWord.UNCLEAR:
        return f"{state} No clear difference in {main.title}."
    return f"{state} {main.title.capitalize()}: {main.word} with protection."


def _shadow_sentence(found: Experiment, known: ShadowReport | None) -> str:
    if known is None:
        return "A draft. Nothing changes before it is started, and no answer changes then."
    state = f"{found.get_state_display()} in shadow mode, {_day(found)}."
    if not known.calls:
        return f"{state} No call yet."
    main, calls = known.measures[0], f"The same {wording.plural(known.calls, 'call')} sized both ways"
    if not main.off:
        return f"{state} {calls}."
    change = (main.on - main.off) / main.off
    return f"{state} {calls}: {abs(change):.0%} {'fewer' if change < 0 else 'more'} tokens with protection."


@dataclass(frozen=True, slots=True)
class MeasureRow:
    title: str
    is_main: bool
    off: str
    on: str
    difference: str
    word: str
    left: str  # positions of the interval's drawing; "" without one
    width: str
    point: str


def _row(each: MeasureResult) -> MeasureRow:
    shown = wording.share if each.is_share else wording.short
    drawn = _drawn(each.difference, is_share=each.is_share)
    return MeasureRow(each.title, each.is_main, shown(each.off), shown(each.on), drawn[0], str(each.word), *drawn[1:])


def _paired_row(each: PairedMeasure) -> MeasureRow:
    drawn = _drawn(each.difference, is_share=False)
    word = MeasureWord.TOO_EARLY if each.difference is None else word_for(each.difference)
    off, on = wording.short(each.off), wording.short(each.on)
    return MeasureRow(each.title, each.name == "claude", off, on, drawn[0], str(word), *drawn[1:])


def _drawn(found: ConfidenceInterval | None, *, is_share: bool) -> tuple[str, str, str, str]:
    """The difference in words, and the left end, the width and the point of its drawing."""
    if found is None:
        return wording.NOTHING, "", "", ""
    unit, reach = (" points", 0.1) if is_share else ("%", 1.0)
    value, low, high = (f"{100 * number:+.1f}".replace("-", "−") for number in (found.value, found.low, found.high))
    first, last, middle = (_x(number / reach) for number in (found.low, found.high, found.value))
    return f"{value}{unit} ({low} to {high})", f"{first:.1f}", f"{max(2.0, last - first):.1f}", f"{middle:.1f}"


def _x(share: float) -> float:
    return MIDDLE + (MIDDLE - 4) * max(-1.0, min(1.0, share))
