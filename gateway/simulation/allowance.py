"""The limits of a simulation: a number of calls, and a time."""

import time
from dataclasses import dataclass, field


class Finished(Exception):
    """The allowance is used up. This ends every client."""


@dataclass
class Allowance:
    calls: int
    seconds: float
    made: int = 0
    failed: int = 0  # calls answered with an error
    started: float = field(default_factory=time.monotonic)

    def take(self) -> None:
        """Counts one more call against the limits. Raises Finished."""
        if self.made >= self.calls or self.seconds_left <= 0:
            raise Finished
        self.made += 1

    @property
    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    def pause(self, clients: int) -> float:
        """Seconds that each of this number of clients pauses between two calls, to spread the calls over the time that
        is left."""
        left = max(1, self.calls - self.made)
        return max(0.0, self.seconds_left) * clients / left
