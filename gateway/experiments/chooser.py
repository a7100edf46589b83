"""The arms of running experiments, for the configuration."""

from context_protection.configuration.arms import Arm
from gateway.experiments.models import UNPROTECTED, Experiment, ExperimentState
from gateway.rollouts.chooser import SplitChooser


def choosers() -> list[SplitChooser]:
    """Those of all running experiments, the oldest first. They come after rollouts: a call that both concern belongs to
    the rollout. Queries."""
    running = Experiment.objects.filter(state=ExperimentState.RUNNING).order_by("pk")
    return [
        SplitChooser(each.patterns, each.salt, each.cutoff, Arm(each.off_arm, UNPROTECTED), Arm(each.on_arm))
        for each in running
    ]
