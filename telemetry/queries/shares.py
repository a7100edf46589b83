"""The values that failed calls share: their frequency among the failed calls, and among the others."""

from dataclasses import dataclass

from telemetry.queries.records import select
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span
from telemetry.queries.values import Value, values_of

COMPARED = ("upstream", "reason", "tool", "key", "client", "transport", "policy", "arm")
NEWEST = 50_000  # calls that are compared
LEAST_FAILED = 5  # fewer calls may be alike by chance
LEAST_GAP = 0.0999  # 10 points, minus rounding errors
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Gap:
    """A value with its share of the failed and of the other calls, 0 to 1."""

    dimension: str
    value: str
    of_failed: float
    of_others: float

    @property
    def size(self) -> float:
        return self.of_failed - self.of_others


@dataclass(frozen=True, slots=True)
class Shares:
    """`is_cut`: only the newest calls of the span were compared."""

    values: tuple[Value, ...]
    failed: int
    others: int
    is_cut: bool

    @property
    def calls(self) -> int:
        return self.failed + self.others

    @property
    def is_comparable(self) -> bool:
        return self.failed >= LEAST_FAILED and self.others > 0

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Values that are at least LEAST_GAP more frequent among the failed calls, the largest difference first. At
        most one value of each dimension, because a second would repeat the finding."""
        if not self.is_comparable:
            return ()
        found: dict[str, Gap] = {}
        for gap in sorted(map(self._gap, self.values), key=lambda each: (-each.size, COMPARED.index(each.dimension))):
            if gap.size >= LEAST_GAP:
                found.setdefault(gap.dimension, gap)
        return tuple(found.values())[:SHOWN]

    def _gap(self, value: Value) -> Gap:
        return Gap(value.dimension, value.value, value.failed / self.failed, value.others / self.others)


def shares(span: Span, selection: Selection, *, newest: int = NEWEST) -> Shares:
    """Compares the newest calls of the span, in one query."""
    found = values_of(select(span, selection), COMPARED, newest)
    return Shares(found.counts, found.failed, found.others, is_cut=found.calls >= newest)
