"""Prometheus counters and histograms that are fast to scrape even with 90,000 series, which 2,000 tools have.

Each series stores the text of its name and labels, so a scrape only adds the values. prometheus_client formats that
text at each scrape, which takes two seconds. One thread changes the values; a scrape may read them on any other.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class ValueSeries:
    """One number. `text`: its name and labels."""

    __slots__ = ("text", "value")

    def __init__(self, text: str) -> None:
        self.text, self.value = text, 0.0

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def lines(self) -> Iterator[str]:
        yield f"{self.text} {self.value!r}"


class HistogramSeries:
    """`limits`: the upper limits of all buckets but the last, which has none."""

    __slots__ = ("_counts", "_limits", "_sum", "_texts")

    def __init__(self, name: str, labels: Sequence[tuple[str, str]], limits: Sequence[float]) -> None:
        ends = (*(repr(float(limit)) for limit in limits), "+Inf")
        self._texts = [_text(f"{name}_bucket", (*labels, ("le", end))) for end in ends]
        self._sum, count = ValueSeries(_text(f"{name}_sum", labels)), _text(f"{name}_count", labels)
        self._texts.append(count)
        self._limits, self._counts = limits, [0] * len(ends)

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._limits, value)] += 1
        self._sum.inc(value)

    def lines(self) -> Iterator[str]:
        added = list(accumulate(self._counts))
        for text, count in zip(self._texts, (*added, added[-1]), strict=True):
            yield f"{text} {count}.0"
        yield from self._sum.lines()


class Family:
    """All series of one name. `kind`: counter or gauge. The name of a counter gets the ending _total."""

    def __init__(self, name: str, help: str, labels: Sequence[str], kind: str = "counter") -> None:
        self._name = f"{name}_total" if kind == "counter" else name
        self._help, self._labels, self._kind = help, labels, kind
        self._series: dict[tuple[str, ...], ValueSeries] = {}

    def labels(self, *values: str) -> ValueSeries:
        """The series with these label values; a new one starts at 0."""
        if (known := self._series.get(values)) is None:
            known = self._series[values] = ValueSeries(_text(self._name, list(zip(self._labels, values, strict=True))))
        return known

    def lines(self) -> Iterator[str]:
        yield from _head(self._name, self._help, self._kind)
        for series in list(self._series.values()):  # a copy, because another thread may add a series
            yield from series.lines()


class HistogramFamily:
    def __init__(self, name: str, help: str, labels: Sequence[str], limits: Sequence[float]) -> None:
        self._name, self._help, self._labels, self._limits = name, help, labels, limits
        self._series: dict[tuple[str, ...], HistogramSeries] = {}

    def labels(self, *values: str) -> HistogramSeries:
        if (known := self._series.get(values)) is None:
            labels = list(zip(self._labels, values, strict=True))
            known = self._series[values] = HistogramSeries(self._name, labels, self._limits)
        return known

    def lines(self) -> Iterator[str]:
        yield from _head(self._name, self._help, "histogram")
        for series in list(self._series.values()):
            yield from series.lines()


def _head(name: str, help: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"


def _text(name: str, labels: Sequence[tuple[str, str]]) -> str:
    pairs = ",".join(f'{label}="{value.translate(ESCAPES)}"' for label, value in labels)
    return f"{name}{{{pairs}}}"
