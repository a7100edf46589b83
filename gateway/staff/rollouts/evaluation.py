"""Checks every running rollout, which then advances, waits, or is rolled back."""

import logging
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway.staff.rollouts import steps
from gateway.staff.rollouts.figures import sides
from gateway.staff.rollouts.guardrails import Advice, GuardrailVerdict, verdict
from gateway.staff.rollouts.models import Rollout, RolloutState
from telemetry.locks import only_one

FRESH = timedelta(minutes=10)  # the age of a step up to which it is checked often
OFTEN, SELDOM = timedelta(seconds=5), timedelta(seconds=30)  # between two checks; beat runs at the shorter interval

logger = logging.getLogger(__name__)


def check_interval(rollout: Rollout, now: datetime) -> timedelta:
    """Checks are frequent when a step begins: that is when faults appear, and a check then reads few calls."""
    since = rollout.step_since
    return OFTEN if since is not None and now - since < FRESH else SELDOM


def next_check(rollout: Rollout, now: datetime) -> datetime | None:
    """When the next check is due; None if the rollout is not running. It may be in the past, if beat has not run
    since."""
    if rollout.state != RolloutState.RUNNING:
        return None
    last = rollout.checked_at or rollout.step_since
    return now if last is None else last + check_interval(rollout, now)


def check_rollouts(now: datetime | None = None) -> None:
    """Called by beat, in one process at a time. A rollout that cannot be judged stays at its step, and its verdict says
    so."""
    now = now or timezone.now()
    with only_one("rollouts") as is_ours:
        for rollout in Rollout.objects.filter(state=RolloutState.RUNNING) if is_ours else ():
            if not _is_due(rollout, now):
                continue
            try:
                _check(rollout, now)
            except steps.StepRefused:  # somebody paused, aborted or advanced it meanwhile
                continue
            except ValidationError as error:
                _store_verdict(rollout, f"The values cannot become a budget: {' '.join(error.messages)}", now)
            except Exception:
                logger.exception("rollout not judged", extra={"rollout": rollout.name})
                _store_verdict(rollout, "The calls could not be judged. The next check tries again.", now)


def _is_due(rollout: Rollout, now: datetime) -> bool:
    last, pause = rollout.checked_at, check_interval(rollout, now)
    return last is None or pause == OFTEN or now - last >= pause


def judged(rollout: Rollout, now: datetime) -> GuardrailVerdict:
    """The verdict on the calls of the current step. Queries the database."""
    has_waited = rollout.earliest_next is not None and now >= rollout.earliest_next
    return verdict(sides(rollout, now), minimum_calls=rollout.minimum_calls, has_waited=has_waited, share=rollout.share)


def _check(rollout: Rollout, now: datetime) -> None:
    found = judged(rollout, now)
    if found.advice is Advice.ROLL_BACK:
        steps.roll_back(rollout.pk, found.reason)
        logger.warning("rollout rolled back", extra={"rollout": rollout.name, "reason": found.reason})
    elif found.advice is Advice.ADVANCE:
        steps.advance(rollout.pk, f"Automatic: {found.reason}", rollout.step)
    _store_verdict(rollout, found.reason, now)


def _store_verdict(rollout: Rollout, reason: str, now: datetime) -> None:
    """Stores the reason, without a history entry because no behaviour changes."""
    Rollout.objects.filter(pk=rollout.pk).update(verdict=reason[:300], checked_at=now)
