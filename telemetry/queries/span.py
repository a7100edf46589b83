"""A span of time and the length of its buckets."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# The step for spans up to a length. Steps of a minute and more are read from rollups, so they consist of whole rollups.
STEPS = (
    (15 * MINUTE, 15 * SECOND),
    (HOUR, MINUTE),
    (6 * HOUR, 5 * MINUTE),
    (7 * DAY, HOUR),
    (400 * DAY, DAY),
)
LONGEST = 7 * DAY  # the step for longer spans


@dataclass(frozen=True, slots=True)
class Span:
    """[since, until) in buckets of length `step`. The first and the last bucket may be cut off by the span."""

    since: datetime  # aware
    until: datetime
    step: timedelta

    @classmethod
    def of(cls, since: datetime, until: datetime) -> "Span":
        """The span with the step for its length. Raises ValueError if it is empty."""
        if until <= since:
            raise ValueError("A span ends after it starts.")
        length = until - since
        return cls(since, until, next((step for most, step in STEPS if length <= most), LONGEST))

    @property
    def length(self) -> timedelta:
        return self.until - self.since

    def previous(self, length: timedelta | None = None) -> "Span":
        """The span of the same length before this one, or the one `length` earlier."""
        back = length or self.length
        return Span(self.since - back, self.until - back, self.step)

    @property
    def starts(self) -> tuple[datetime, ...]:
        """The start of each bucket: whole steps since 1970, UTC."""
        return tuple(self._starts())

    def _starts(self) -> Iterator[datetime]:
        step = int(self.step.total_seconds())
        first = int(self.since.timestamp()) // step * step
        for at in range(first, -int(-self.until.timestamp() // 1), step):
            yield datetime.fromtimestamp(at, UTC)

    def bucket(self, moment: datetime) -> datetime:
        """The start of the bucket that a moment falls into."""
        step = int(self.step.total_seconds())
        return datetime.fromtimestamp(int(moment.timestamp()) // step * step, UTC)
