"""make bench: measures the cost of a call to Sluice and to peers that do the same, each in its own process, in
alternating blocks. Judge by the ratios: processor times depend on this machine and on what else it does.

make bench                                  # beside the raw SDK and a bare ASGI route
make bench ARGS="--peers"                   # and FastMCP, which is installed into its own environment
make bench ARGS="--gate"                    # has something become slower? Three minutes; exit code 1 if so
make bench ARGS="--rows calls --beside DIR" # compared with another checkout of Sluice
make bench ARGS="--growth"                  # how cost grows with rows, bytes, tools, clients and workers
make bench ARGS="--peers --bodies FILE ..." # calls that answer JSON of your own
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.processes import ROOT
from benchmarks.table import bodies, gate, growth, report, upstream
from benchmarks.table.figures import BenchRun, TableFigure, read
from benchmarks.table.measure import FULL, GROUPS, IN_GATE, QUICK, Amounts
from benchmarks.table.peers import fastmcp_environment
from benchmarks.table.stage import Stage


def measured(stage: Stage, groups: Sequence[str], amounts: Amounts) -> BenchRun:
    """Measures each group. A group that fails is reported as missing."""
    figures: dict[str, TableFigure] = {}
    missed = {} if stage.has_fastmcp else {"FastMCP": 'make bench ARGS="--peers"'}
    for name in groups:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            figures |= GROUPS[name].measure(stage, amounts)
        except* Exception as errors:
            missed[name] = "; ".join(repr(each) for each in errors.exceptions)
    return BenchRun(_machine(), _commit(), figures, missed)


def measured_twice(stage: Stage, groups: Sequence[str], amounts: Amounts) -> BenchRun:
    """Measures groups with rows that seem slower than the committed figures again, because another program may have
    slowed them."""
    committed, run = read(gate.COMMITTED), measured(stage, groups, amounts)
    slower = {each.row for each in gate.compare(committed, run) if each.is_regression}
    again = measured(stage, [name for name in groups if slower.intersection(GROUPS[name].rows)], amounts)
    figures = {
        name: figure.with_more(again.figures[name]) if name in again.figures else figure
        for name, figure in run.figures.items()
    }
    return replace(run, figures=figures, missed={**run.missed, **again.missed})


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _json_file(path: str) -> Path:
    try:
        upstream.of_file(path)
    except (OSError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}") from None
    return Path(path).resolve()  # the upstream runs in another directory


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("make bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="compare with FastMCP too, and install it")
    parser.add_argument("--fastmcp", type=Path, metavar="PYTHON", help="an interpreter that has FastMCP")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="compare the calls with another checkout of Sluice")
    parser.add_argument("--gate", action="store_true", help="a short run, compared with the committed figures")
    parser.add_argument("--rows", metavar="GROUPS", help=f"only some, of {','.join(GROUPS)}")
    parser.add_argument("--growth", action="store_true", help="how cost grows, as Markdown")
    parser.add_argument(
        "--bodies",
        type=_json_file,
        nargs="+",
        default=[],
        metavar="FILE",
        help="measure only calls that answer the JSON of these files",
    )
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/performance.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--write", action="store_true", help="make these the committed figures")
    options = parser.parse_args()
    if options.bodies and any((options.gate, options.rows, options.growth, options.json, options.write)):
        parser.error("--bodies measures nothing else: leave out --gate, --rows, --growth, --json and --write.")
    return options


def print_all(lines: Iterable[str]) -> None:
    """Prints each line as soon as it is measured."""
    for line in lines:
        print(line, flush=True)


def main() -> None:
    options = _options()
    fastmcp = options.fastmcp or (fastmcp_environment.python() if options.peers else None)
    groups = options.rows.split(",") if options.rows else list(IN_GATE if options.gate else GROUPS)
    with Stage(fastmcp, options.beside, options.bodies) as stage:
        if options.bodies:
            return print_all(bodies.markdown(stage, options.bodies))
        if options.growth:
            return print_all(growth.markdown(stage))
        run = measured_twice(stage, groups, QUICK) if options.gate else measured(stage, groups, FULL)
    print_all((report.markdown if options.markdown else report.text)(run))
    for path in filter(None, (options.json, gate.COMMITTED if options.write else None)):
        run.write(path)
    if options.gate and not options.write:
        sys.exit(_compared(run))


def _compared(run: BenchRun) -> int:
    committed = read(gate.COMMITTED)
    comparisons = list(gate.compare(committed, run))
    print(f"Compared with the figures of {committed.commit}:", *comparisons, sep="\n")
    return exit_code(comparisons, run.missed)


def exit_code(comparisons: Sequence[gate.GateComparison], missed: Collection[str]) -> int:
    """1 if something is slower, or could not be measured."""
    return int(any(each.is_regression for each in comparisons) or any(name in GROUPS for name in missed))


if __name__ == "__main__":
    main()
