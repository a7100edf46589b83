"""What a suite's results say: which checks passed, and which failed that should not have, or passed that could not."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EXPECTED = Path(__file__).with_name("expected.toml")
RESULT = re.compile(r"server-(?P<scenario>.+?)-\d{4}-\d\d-\d\dT")  # the directory of a scenario's results
FAILED = {"FAILURE", "WARNING"}  # a warning is a SHOULD that was not kept: here it has to be kept, or explained
EXTENSION = "tasks-"  # scenarios of an optional extension, which Sluice does not have and the suites do not score


@dataclass(frozen=True)
class Check:
    scenario: str
    id: str
    status: str  # SUCCESS, FAILURE, WARNING, SKIPPED, INFO
    message: str = ""

    @property
    def names(self) -> set[str]:
        """What may stand for it in expected.toml."""
        return {self.scenario, f"{self.scenario}:{self.id}"}


@dataclass(frozen=True)
class Verdict:
    """Of one suite at one endpoint. `wrong` says in words whatever makes the run red."""

    scenarios: int
    passed: int
    excused: int
    wrong: tuple[str, ...]


def judge(checks: Iterable[Check], expected: Mapping[str, str], scenarios: Iterable[str] | int) -> Verdict:
    """Judges the checks of `scenarios`, all of which must have been run: those named, or all that there are, which is
    their number. `expected` are the names of what fails."""
    checks = [check for check in checks if not check.scenario.startswith(EXTENSION)]
    run = {check.scenario for check in checks}
    if isinstance(scenarios, int):
        wrong = [] if len(run) == scenarios else [f"{len(run)} scenarios were run instead of {scenarios}"]
    else:
        wrong = [f"{name} was not run" for name in sorted(set(scenarios) - run)]
        run &= set(scenarios)
    checks = [check for check in checks if check.scenario in run]
    failed = [check for check in checks if check.status in FAILED] + _idle(checks)
    failing = {name for check in failed for name in check.names}
    unexpected = [check for check in failed if not check.names & expected.keys()]
    wrong += [f"{check.scenario}:{check.id} {check.status} {check.message}" for check in unexpected]
    stale = [name for name in expected if name not in failing]
    wrong += [f"{name} passes, or is not run, but stands in {EXPECTED.name}" for name in stale]
    passed = sum(check.status == "SUCCESS" for check in checks)
    return Verdict(len(run), passed, len(failed) - len(unexpected), tuple(wrong))


def _idle(checks: Sequence[Check]) -> list[Check]:
    """Scenarios that have checked nothing, which the suites take for passed."""
    judged = {check.scenario for check in checks if check.status in {"SUCCESS", *FAILED}}
    idle = {check.scenario for check in checks} - judged
    return [Check(name, "nothing", "SKIPPED", "nothing was checked") for name in sorted(idle)]


def expected_of(endpoint: str, suite: str, protocol: str) -> dict[str, str]:
    """What fails at an endpoint, with the reason: in every suite of a protocol's version, and in one suite."""
    sections = tomllib.loads(EXPECTED.read_text()).get(endpoint, {})
    return {**sections.get(protocol, {}), **sections.get(suite, {})}


def results_in(directory: Path) -> list[Check]:
    """The checks that a suite has left, in a directory for each scenario."""
    found = []
    for file in sorted(directory.glob("*/checks.json")):
        name = RESULT.match(file.parent.name)
        assert name is not None, file
        found += [_check(name["scenario"], each) for each in json.loads(file.read_text())]
    return found


def _check(scenario: str, given: Mapping[str, str]) -> Check:
    return Check(scenario, given["id"], given["status"], given.get("errorMessage") or "")
