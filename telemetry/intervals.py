"""Cuts a time span into intervals for a chart."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
STEPS = (
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 30, 90, 365)),
)


@dataclass(frozen=True, slots=True)
class Intervals:
    """`count` consecutive intervals of length `step`, beginning at `start`."""

    start: datetime
    step: timedelta
    count: int

    @property
    def starts(self) -> tuple[datetime, ...]:
        return tuple(self.start + n * self.step for n in range(self.count))


def cut(since: datetime, until: datetime, at_most: int) -> Intervals:
    """Intervals of the finest of STEPS that covers [since, until] in about `at_most` intervals.

    They start on whole steps (days at midnight UTC), so that charts drawn moments apart have equal intervals.
    """
    span = max(until - since, MINUTE)
    step = next((step for step in STEPS if span / step <= at_most), STEPS[-1])
    start = _floor(since, min(step, DAY))
    return Intervals(start, step, (until - start) // step + 1)


def _floor(moment: datetime, step: timedelta) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return moment.astimezone(UTC) - (moment - epoch) % step
