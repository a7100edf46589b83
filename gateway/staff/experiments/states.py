"""Starts and ends experiments. The history stores the reasons."""

from django.db import transaction
from django.utils import timezone

from context_protection.reasons import give_reason
from gateway.staff.experiments.models import Experiment, ExperimentState
from gateway.staff.rollouts.assignment import cutoff
from gateway.staff.rollouts.steps import active_callers

HALF = 0.5


class StateRefused(Exception):
    """The experiment's state does not allow this. The text names the state."""


def start(pk: int, reason: str) -> Experiment:
    """From the next call on, half of the callers have protection off. Raises StateRefused."""
    with transaction.atomic():
        found = _locked(pk, ExperimentState.DRAFT)
        found.state, found.started_at = ExperimentState.RUNNING, timezone.now()
        found.cutoff = cutoff(found.salt, HALF, active_callers())
        return _saved(found, reason)


def end(pk: int, reason: str) -> Experiment:
    """From the next call on, every caller has protection as configured. Raises StateRefused."""
    with transaction.atomic():
        found = _locked(pk, ExperimentState.RUNNING)
        found.state, found.ended_at = ExperimentState.ENDED, timezone.now()
        return _saved(found, reason)


def _locked(pk: int, state: ExperimentState) -> Experiment:
    found = Experiment.objects.select_for_update().get(pk=pk)
    if found.state != state:
        raise StateRefused(f"{found} is {found.get_state_display().lower()}, not {state.label.lower()}.")
    return found


def _saved(found: Experiment, reason: str) -> Experiment:
    give_reason(found, reason)
    found.save()
    return found
