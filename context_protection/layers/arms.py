"""Arms: settings that rollouts and experiments give to a share of the callers. They are above all other layers.

An application registers a provider with `policies.choose_arms_with`. The provider is called whenever the configuration
is loaded, on a thread that may block and query. Its choosers are frozen with the configuration, so a call sees one
choice from its start to its end (law 6), and a change needs a new revision: save a model that is declared with
`revisions.bump_when_changed`, or call `bump_on_commit`. A call has at most one arm: that of the first chooser that has
one for it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a rollout or an experiment.

    `name` is recorded with each call (telemetry's column `arm`); equal names must mean equal values. `values` are
    settings by their names in Policy (`token_budget_threshold`); a control has none. Values that contradict the other
    settings of an operation are not used: the call then has no arm.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


class ArmChooser(Protocol):
    """A rollout or an experiment as it was when the configuration was loaded."""

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        """The arm of this caller (the name of an API key) for this operation; None if the caller takes no part. Called
        for every call that is not answered from the cache: it must not block, query or raise, and its result must
        depend on nothing but its arguments and the chooser."""


ArmProvider = Callable[[], Iterable[ArmChooser]]
