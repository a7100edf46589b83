"""Writes docs/mutation.md: how many seeded bugs the tests find, and each one that they do not. For `make mutation`.

mutmut seeds the bugs and runs the tests (pyproject.toml, `tool.mutmut`). It is importable only there.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mutmut.configuration import config
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "mutation.md"
FOUND = ("killed", "timeout")  # a test failed, or ran into its limit of processor time
NOT_TRIED = "not checked"
HEAD = """# Seeded bugs

`make mutation` seeds one bug at a time into the code that guards the promises (cursors, budgets, redaction, network
checks, the dispatcher), and runs the tests that reach it. It takes about an hour on two cores, so CI does not run it.
A bug is found if a test fails, or never ends. Several of those below change nothing that can be observed.
"""
UNFINISHED = """
The last run was ended before it had tried all bugs. The share is that of the bugs that it tried.
"""


@dataclass(frozen=True)
class Mutants:
    """The mutants of one file: the status of each by its name."""

    path: str
    statuses: dict[str, str]

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.statuses.values())

    @property
    def found(self) -> int:
        return sum(self.counts[status] for status in FOUND)

    @property
    def tried(self) -> int:
        return len(self.statuses) - self.counts[NOT_TRIED]

    @property
    def missed(self) -> list[str]:
        return [name for name, status in self.statuses.items() if status not in (*FOUND, NOT_TRIED)]


def mutants_of(path: str) -> Mutants:
    document = json.loads((ROOT / "mutants" / f"{path}.meta").read_text())
    return Mutants(path, {name: status_by_exit_code[code] for name, code in document["exit_code_by_key"].items()})


def report(files: list[Mutants]) -> str:
    tried, every = sum(each.tried for each in files), sum(len(each.statuses) for each in files)
    found = sum(each.found for each in files)
    total = f"| **all** | {every} | {tried} | {found} | **{_share(found, tried)}** |"
    rows = ["| file | bugs | tried | found | share |", "|---|---|---|---|---|", *map(_row, files), total]
    table = "\n".join(rows)
    missed = "\n\n".join(_missed(each) for each in files if each.missed)
    note = UNFINISHED if tried < every else ""
    return f"{HEAD}{note}\n{table}\n\n## Bugs that no test finds\n\n{missed}\n"


def _row(mutants: Mutants) -> str:
    share = _share(mutants.found, mutants.tried)
    return f"| {mutants.path} | {len(mutants.statuses)} | {mutants.tried} | {mutants.found} | {share} |"


def _share(found: int, every: int) -> str:
    return f"{100 * found / every:.1f} %" if every else "–"


def _missed(mutants: Mutants) -> str:
    lines = "\n".join(_changed(mutants, name) for name in mutants.missed)
    return f"### {mutants.path}\n\n```diff\n{lines}\n```"


def _changed(mutants: Mutants, name: str) -> str:
    """The lines that the bug changes, and where no test reaches them."""
    diff = get_diff_for_mutant(name, path=Path(mutants.path)).splitlines()
    changed = [line for line in diff if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))]
    status = mutants.statuses[name]
    return "\n".join([*([f"# {status}"] if status != "survived" else []), *changed])


if __name__ == "__main__":
    files = [mutants_of(path) for path in config().only_mutate]
    REPORT.write_text(report(files))
    sys.stdout.write(f"Wrote {REPORT.relative_to(ROOT)}.\n")
