"""The result of a moment of work on an index. These classes are not in the indexer's module, which only the indexing
process loads."""

from dataclasses import dataclass, field
from enum import StrEnum

BATCH = 500  # the most files that are read together and written in one transaction


@dataclass(frozen=True, slots=True)
class RunStep:
    """The progress of a run. `done` of `total` files of the project are up to date. `differing`: how many files were
    not up to date when the run began. `share`: the part of the run that is done, 0 to 1. `commit`: the id of HEAD's
    commit; "" if there is none yet."""

    done: int = 0
    total: int = 0
    differing: int = 0
    share: float = 0.0
    activity: str = "Looking for changes"
    commit: str = ""

    @property
    def is_small(self) -> bool:
        """Whether the files that differ fit into one batch, which readers see at once. Large files may still need
        several batches."""
        return self.differing <= BATCH


class AdvanceOutcome(StrEnum):
    UNCHANGED = "unchanged"  # nothing to do: the tree is as the last run found it
    WORKING = "working"  # the run is not finished: there is more to do
    DONE = "done"  # the run is finished: the index is up to date
    BUSY = "busy"  # another process indexes this project
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Advance:
    """`remaining`: estimated seconds until the run ends, 0 if there is no estimate. `error`: a sentence for ops."""

    outcome: AdvanceOutcome
    step: RunStep = field(default_factory=RunStep)
    remaining: float = 0.0
    error: str = ""
