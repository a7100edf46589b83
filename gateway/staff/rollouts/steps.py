"""The actions on a rollout: start, pause, resume, the next step, abort, roll back. The history stores their reasons."""

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from context_protection.models import TokenBudget
from context_protection.reasons import give_reason
from gateway.access.models import ApiKey
from gateway.staff.rollouts.assignment import cutoff
from gateway.staff.rollouts.models import Rollout, RolloutState


class StepRefused(Exception):
    """The rollout's state does not allow this. The text says which states do."""


def start(pk: int, reason: str) -> Rollout:
    """Raises ValidationError for values that contradict other settings: no call would have them."""
    return _change(pk, reason, (RolloutState.DRAFT,), _begin)


def pause(pk: int, reason: str) -> Rollout:
    """The callers keep their values, and no step follows."""
    return _change(pk, reason, (RolloutState.RUNNING,), lambda each, now: _to(each, RolloutState.PAUSED))


def resume(pk: int, reason: str) -> Rollout:
    return _change(pk, reason, (RolloutState.PAUSED,), lambda each, now: _to(each, RolloutState.RUNNING))


def advance(pk: int, reason: str, seen_step: int | None = None) -> Rollout:
    """The next step; after the last one the values become budgets, and the rollout ends. `seen_step`: the step that the
    decision was made at. If the rollout has left it, StepRefused is raised: two decisions are one step, not two."""

    def change(rollout: Rollout, now: datetime) -> None:
        if seen_step not in (None, rollout.step):
            raise StepRefused(f"{rollout} is at step {rollout.step + 1} by now, so it did not advance again.")
        _next(rollout, now)

    return _change(pk, reason, (RolloutState.RUNNING, RolloutState.PAUSED), change)


def abort(pk: int, reason: str) -> Rollout:
    """Every caller has the earlier values again."""
    states = (RolloutState.RUNNING, RolloutState.PAUSED)
    return _change(pk, reason, states, lambda each, now: _to(each, RolloutState.ABORTED))


def roll_back(pk: int, reason: str) -> Rollout:
    """Like `abort`, but by a guardrail."""
    states = (RolloutState.RUNNING, RolloutState.PAUSED)
    return _change(pk, reason, states, lambda each, now: _to(each, RolloutState.ROLLED_BACK))


Change = Callable[[Rollout, datetime], None]


def _change(pk: int, reason: str, states: tuple[RolloutState, ...], change: Change) -> Rollout:
    """Raises StepRefused, Rollout.DoesNotExist."""
    with transaction.atomic():
        rollout = Rollout.objects.select_for_update().get(pk=pk)
        if rollout.state not in states:
            allowed = " or ".join(str(each.label).lower() for each in states)
            raise StepRefused(f"{rollout} is {rollout.get_state_display().lower()}; this needs one that is {allowed}.")
        now = timezone.now()
        change(rollout, now)
        rollout.verdict = reason
        give_reason(rollout, reason)
        rollout.save()
    return rollout


def _to(rollout: Rollout, state: RolloutState) -> None:
    rollout.state = state


def _begin(rollout: Rollout, now: datetime) -> None:
    for budget in _budgets(rollout):
        budget.full_clean()
    rollout.state, rollout.step = RolloutState.RUNNING, 0
    _enter(rollout, now)


def _next(rollout: Rollout, now: datetime) -> None:
    if rollout.is_last_step:
        _finish(rollout)
        return
    rollout.step += 1
    _enter(rollout, now)


def _enter(rollout: Rollout, now: datetime) -> None:
    """Included callers stay included, even if callers were added or removed since."""
    included = cutoff(rollout.salt, rollout.share / 100, active_callers())
    rollout.cutoff = max(rollout.cutoff, included)
    rollout.step_since = now


def active_callers() -> list[str]:
    """The names of all keys that can call."""
    return list(ApiKey.objects.valid(timezone.now()).values_list("name", flat=True))


def _finish(rollout: Rollout) -> None:
    for budget in _budgets(rollout):
        give_reason(budget, f"rollout {rollout} is done")
        budget.full_clean()
        budget.save()
    rollout.state = RolloutState.DONE


def _budgets(rollout: Rollout) -> Iterator[TokenBudget]:
    """The budget of each of the rollout's patterns with its values, not saved."""
    for pattern in rollout.patterns or ("",):
        scope = {"operation": pattern, "connector": "", "caller": ""}
        budget = TokenBudget.objects.filter(**scope).first() or TokenBudget(**scope)
        for name, value in rollout.values.items():
            setattr(budget, name, value)
        yield budget
