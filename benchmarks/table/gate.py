"""Compares the ratios of a run with the committed ones, to find what has become slower. It compares ratios to a
yardstick of the same run, because each run may be on another machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table.figures import BenchRun, TableFigure
from benchmarks.table.rows import ROWS

COMMITTED = Path(__file__).resolve().parent / "figures.json"


@dataclass(frozen=True, slots=True)
class GateComparison:
    """A figure's ratios to its yardstick in two runs. In each: the ratio of the best blocks, and the median ratio of
    blocks side by side."""

    row: str
    before: tuple[float, float]
    now: tuple[float, float]

    @property
    def change(self) -> float:
        """The smaller of both changes, because a real slowdown shows in both ratios."""
        return min(now / before - 1 for before, now in zip(self.before, self.now, strict=True))

    @property
    def is_regression(self) -> bool:
        return self.change > ROWS[self.row].tolerance

    def __str__(self) -> str:
        row = ROWS[self.row]
        verdict = f"SLOWER than the tolerance of {row.tolerance:.0%}" if self.is_regression else "within the tolerance"
        before, now = (f"{best:.2f} ({median:.2f})" for best, median in (self.before, self.now))
        unit = f"× {row.watched}" if row.watched else row.unit
        return f"  {row.title:58} {before:>17} → {now:>17} {unit:12} {self.change:+5.0%}  {verdict}"


def compare(committed: BenchRun, now: BenchRun) -> Iterator[GateComparison]:
    """The watched rows that both runs have, with the same yardstick."""
    for name, row in ROWS.items():
        if row.watched is not None and name in committed.figures and name in now.figures:
            before, after = (_ratios(run.figures[name], row.watched) for run in (committed, now))
            if before and after:
                yield GateComparison(name, before, after)


def _ratios(figure: TableFigure, yardstick: str) -> tuple[float, float] | None:
    best, median = figure.ratio(yardstick), figure.median_ratio(yardstick)
    return None if best is None or median is None else (best, median)
