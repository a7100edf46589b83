"""The arms of running experiments, for the configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from context_protection.layers.arms import Arm, ArmChooser
from gateway.staff.experiments.models import UNPROTECTED, Experiment, ExperimentState
from gateway.staff.rollouts.chooser import SplitChooser


@dataclass(frozen=True)
class ShadowChooser:
    """An experiment in shadow mode: it gives no caller an arm. It is loaded and frozen with the configuration, so that
    no query is needed to find out whether a call is sized."""

    experiment: int
    patterns: tuple[str, ...]
    salt: str

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        return None

    def is_for(self, operation: str) -> bool:
        return not self.patterns or any(fnmatchcase(operation, each) for each in self.patterns)


def choosers() -> Sequence[ArmChooser]:
    """The choosers of all running experiments, oldest first. Rollouts take precedence: a call that matches both belongs
    to the rollout. Queries the database."""
    running = Experiment.objects.filter(state=ExperimentState.RUNNING).order_by("pk")
    return [
        ShadowChooser(each.pk, each.patterns, each.salt)
        if each.is_shadow
        else SplitChooser(each.patterns, each.salt, each.cutoff, Arm(each.off_arm, UNPROTECTED), Arm(each.on_arm))
        for each in running
    ]
