"""The table, for a terminal and as Markdown for docs/performance.md."""

from collections.abc import Iterator

from benchmarks.table.figures import BenchRun, TableFigure
from benchmarks.table.rows import ROWS, TableRow

HEAD = (
    "| | best | median | compared with | ratio, of the best | ratio, median | must | reach for | |",
    "|" + "---|" * 9,
)


def text(run: BenchRun) -> Iterator[str]:
    yield f"{run.machine}, commit {run.commit}"
    for name, figure in run.figures.items():
        row = ROWS[name]
        beside = ", ".join(f"{title} {min(values):.2f}" for title, values in figure.beside.items())
        yield f"  {row.title:58} {figure.best:8.2f} ({figure.median:.2f}) {row.unit:7} {_summary(row, figure)}"
        if beside:
            yield f"  {'':58} beside: {beside}"
    yield from _missed(run)


def markdown(run: BenchRun) -> Iterator[str]:
    yield from HEAD
    for name, figure in run.figures.items():
        row = ROWS[name]
        cells = (
            row.title,
            f"{figure.best:.2f} {row.unit}".rstrip(),
            f"{figure.median:.2f}",
            ", ".join(f"{title} {min(values):.2f}" for title, values in figure.beside.items()),
            _ratio(row, figure.ratio(row.against)) if row.against else "",
            _ratio(row, figure.median_ratio(row.against)) if row.against else "",
            _goal(row, row.must),
            _goal(row, row.reach),
            _verdict(row, figure),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"Commit {run.commit}; {run.machine}."
    yield from _missed(run)


def _missed(run: BenchRun) -> Iterator[str]:
    for what, why in run.missed.items():
        yield f"Not measured: {what}: {why}"


def _summary(row: TableRow, figure: TableFigure) -> str:
    if row.must is None:
        return ""
    ratios = "" if not row.against else f"{_ratio(row, figure.ratio(row.against))} of {row.against}, "
    return f"{ratios}must {_goal(row, row.must)}: {_verdict(row, figure)}"


def _ratio(row: TableRow, ratio: float | None) -> str:
    """The figure divided by the yardstick; for a row with `times`, as 1/n: the yardstick takes n times as much."""
    if ratio is None:
        return "?"
    return f"1/{1 / ratio:.1f}" if row.times else f"{ratio:.2f}"


def _goal(row: TableRow, limit: float | None) -> str:
    if limit is None:
        return ""
    return f"≤ {_ratio(row, limit)}" + ("" if row.against else f" {row.unit}".rstrip())


def _verdict(row: TableRow, figure: TableFigure) -> str:
    ratio = figure.ratio(row.against)
    if row.must is None:
        return ""
    if ratio is None:
        return "not compared"
    if row.reach is not None and ratio <= row.reach:
        return "reached"
    return "met" if ratio <= row.must else "**missed**"
