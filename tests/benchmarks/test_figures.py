"""Figures of a run, and whether the gate calls them a regression."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.__main__ import exit_code
from benchmarks.table import gate, report
from benchmarks.table.figures import BenchRun, TableFigure, read
from benchmarks.table.rows import FASTMCP, ROWS, SDK

LIST = "list-websocket"


def run(figures: Mapping[str, TableFigure], **missed: str) -> BenchRun:
    return BenchRun("a machine", "a commit", figures, missed)


def listed(*values: float, sdk: float = 0.5) -> BenchRun:
    return run({LIST: TableFigure(values, {SDK: (sdk,) * len(values)})})


def test_a_ratio_is_that_of_the_best_blocks_and_its_median_that_of_blocks_side_by_side():
    figure = TableFigure((2.0, 6.0, 3.0), {SDK: (1.0, 2.0, 0.5)})
    assert figure.ratio(SDK) == 2.0 / 0.5
    assert figure.median_ratio(SDK) == 3.0
    assert figure.ratio("") == 2.0
    assert figure.ratio(FASTMCP) is None


def test_what_takes_longer_than_the_tolerance_is_a_regression():
    tolerance = ROWS[LIST].tolerance
    within, beyond = (
        list(gate.compare(listed(2.0), listed(2.0 * (1 + by)))) for by in (tolerance - 0.01, tolerance + 0.01)
    )
    assert [each.is_regression for each in within] == [False]
    assert [each.is_regression for each in beyond] == [True]
    assert (exit_code(within, {}), exit_code(beyond, {})) == (0, 1)


def test_a_slower_machine_is_no_regression():
    (comparison,) = gate.compare(listed(2.0, sdk=0.5), listed(6.0, sdk=1.5))
    assert comparison.change == pytest.approx(0)


def test_some_slow_blocks_are_no_regression():
    for blocks in ((9.0, 2.1, 2.0), (9.0, 9.0, 2.0), (4.0, 2.0, 4.0, 2.0)):
        (comparison,) = gate.compare(listed(2.0, 2.1, 2.2), listed(*blocks))
        assert not comparison.is_regression
    (comparison,) = gate.compare(listed(2.0, 2.1, 2.2), listed(2.9, 3.0, 9.0))
    assert comparison.is_regression


def test_memory_is_compared_by_itself():
    before, after = (run({"memory-idle": TableFigure((megabytes,))}) for megabytes in (100.0, 120.0))
    assert [each.is_regression for each in gate.compare(before, after)] == [True]


def test_rows_that_only_one_run_has_are_not_compared():
    assert list(gate.compare(listed(2.0), run({}))) == []
    assert list(gate.compare(run({LIST: TableFigure((2.0,))}), listed(2.0))) == []


def test_a_group_that_could_not_be_measured_does_not_pass():
    assert exit_code([], {"calls": "no port is free"}) == 1
    assert exit_code([], {FASTMCP: "not installed"}) == 0


def test_figures_are_read_as_they_were_written(tmp_path: Path):
    written = run({LIST: TableFigure((2.0, 2.5), {SDK: (0.5, 0.6)})}, calls="a reason")
    written.write(tmp_path / "figures.json")
    assert read(tmp_path / "figures.json") == written


def test_the_committed_figures_have_every_row_that_the_gate_watches():
    watched = {name for name, row in ROWS.items() if row.watched is not None}
    committed = read(gate.COMMITTED)
    assert watched == {each.row for each in gate.compare(committed, committed)}


@pytest.mark.parametrize(
    ("fastmcp", "says"), [((8.0,), "reached"), ((6.1,), "met"), ((5.9,), "**missed**"), (None, "not compared")]
)
def test_the_table_says_whether_a_goal_is_met(fastmcp: tuple[float, ...] | None, says: str):
    beside = {FASTMCP: fastmcp} if fastmcp else {}
    line = list(report.markdown(run({LIST: TableFigure((2.0,), beside)})))[2]
    assert line.endswith(f"| ≤ 1/3.0 | ≤ 1/3.7 | {says} |")


def test_the_table_says_what_is_missing():
    assert list(report.markdown(run({}, FastMCP="not installed")))[-1] == "Not measured: FastMCP: not installed"
