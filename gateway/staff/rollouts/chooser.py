"""The arms of running rollouts, for the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from context_protection.layers.arms import Arm
from gateway.staff.rollouts.assignment import is_included
from gateway.staff.rollouts.models import IN_FORCE, Rollout

LARGEST = 10_000  # the most callers that a chooser caches


@dataclass(frozen=True)
class SplitChooser:
    """Splits callers into two arms, as of when the configuration was loaded. `patterns`: the tools concerned; all if
    empty."""

    patterns: tuple[str, ...]
    salt: str
    cutoff: float
    treated: Arm
    control: Arm
    known: dict[str, Arm] = field(default_factory=dict, compare=False)  # a cache, so that each caller is hashed once

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        if self.patterns and not any(fnmatchcase(operation, each) for each in self.patterns):
            return None
        arm = self.known.get(caller)
        if arm is None:
            arm = self.treated if is_included(self.salt, caller, self.cutoff) else self.control
            if len(self.known) < LARGEST:
                self.known[caller] = arm
        return arm


def chooser_of(rollout: Rollout) -> SplitChooser:
    values: Mapping[str, Any] = dict(rollout.values)
    return SplitChooser(
        rollout.patterns,
        rollout.salt,
        rollout.cutoff,
        Arm(rollout.treated_arm, values),
        Arm(rollout.control_arm),
    )


def choosers() -> list[SplitChooser]:
    """The choosers of all rollouts in force, oldest first: a call that matches several belongs to the oldest. Queries
    the database."""
    return [chooser_of(each) for each in Rollout.objects.filter(state__in=IN_FORCE).order_by("pk")]
