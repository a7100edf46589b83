"""The figures of a run, and their ratios to a yardstick of the same run or to an earlier run."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class TableFigure:
    """`values`: the figure of each block; less is better. `beside`: those of each yardstick, in the same blocks."""

    values: tuple[float, ...]
    beside: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def with_more(self, more: "TableFigure") -> "TableFigure":
        """The blocks of both."""
        beside = {name: (*values, *more.beside[name]) for name, values in self.beside.items()}
        return TableFigure((*self.values, *more.values), beside)

    @property
    def best(self) -> float:
        return min(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def ratio(self, yardstick: str) -> float | None:
        """The best block compared with the yardstick's best; without a yardstick, the best itself. None: the
        yardstick was not measured."""
        if not yardstick:
            return self.best
        return self.best / min(self.beside[yardstick]) if yardstick in self.beside else None

    def median_ratio(self, yardstick: str) -> float | None:
        """The median of the ratios of each block to the yardstick's block beside it."""
        if not yardstick:
            return self.median
        if yardstick not in self.beside:
            return None
        return statistics.median(a / b for a, b in zip(self.values, self.beside[yardstick], strict=True))


@dataclass(frozen=True, slots=True)
class BenchRun:
    """`missed`: what could not be measured, and why."""

    machine: str
    commit: str
    figures: Mapping[str, TableFigure]
    missed: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        path.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read(path: Path) -> BenchRun:
    found = orjson.loads(path.read_bytes())
    figures = {name: _figure(each) for name, each in found["figures"].items()}
    return BenchRun(found["machine"], found["commit"], figures, found["missed"])


def _figure(found: Mapping[str, Any]) -> TableFigure:
    beside = {name: tuple(values) for name, values in found["beside"].items()}
    return TableFigure(tuple(found["values"]), beside)


def rounded(values: Sequence[float]) -> tuple[float, ...]:
    """Rounded to four digits; repeated runs agree in fewer."""
    return tuple(float(f"{value:.4g}") for value in values)
