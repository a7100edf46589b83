"""What makes a conformance run red: everything that is not as it was said to be."""

import tomllib

import pytest

from tests.conformance.judging import EXPECTED, Check, expected_of, judge
from tests.conformance.suites import SUITES, WITHOUT_FIXTURES

PING = Check("ping", "ping", "SUCCESS")
HEADERS = Check("headers", "trimmed", "FAILURE", "expected 200")


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_failure_that_nobody_expects_is_red_and_so_is_a_warning(status: str):
    verdict = judge([PING, Check("tools", "listed", status, "no tools")], {}, 2)
    assert verdict.wrong == (f"tools:listed {status} no tools",)
    assert (verdict.passed, verdict.excused) == (1, 0)


@pytest.mark.parametrize("name", ["headers", "headers:trimmed"])
def test_a_failure_with_a_reason_is_excused_by_its_scenario_or_alone(name: str):
    verdict = judge([PING, HEADERS], {name: "a reason"}, 2)
    assert verdict.wrong == ()
    assert (verdict.scenarios, verdict.passed, verdict.excused) == (2, 1, 1)


def test_an_excuse_for_one_check_is_none_for_another():
    other = Check("headers", "named", "FAILURE")
    assert len(judge([HEADERS, other], {"headers:trimmed": "a reason"}, 1).wrong) == 1


@pytest.mark.parametrize("name", ["ping", "ping:ping", "not-a-scenario"])
def test_what_passes_or_is_not_run_must_not_be_excused(name: str):
    verdict = judge([PING], {name: "a reason"}, 1)
    assert verdict.wrong == (f"{name} passes, or is not run, but stands in {EXPECTED.name}",)


def test_a_suite_that_ran_less_than_it_has_is_red():
    assert judge([], {}, 32).wrong == ("0 scenarios were run instead of 32",)
    assert judge([PING], {}, ["ping", "tools"]).wrong == ("tools was not run",)


def test_a_scenario_that_checked_nothing_has_not_passed():
    idle = Check("sessions", "skipped", "INFO")
    assert judge([PING, idle], {}, 2).wrong == ("sessions:nothing SKIPPED nothing was checked",)
    assert judge([PING, idle], {"sessions": "there are none"}, 2).wrong == ()


def test_only_the_scenarios_that_are_named_are_judged_and_extensions_never():
    extension = Check("tasks-lifecycle", "created", "FAILURE")
    assert judge([PING, HEADERS, extension], {}, ["ping"]).wrong == ()
    assert judge([PING, extension], {}, 1).wrong == ()


def test_every_section_of_what_is_expected_belongs_to_a_suite():
    sections = {name for endpoint in tomllib.loads(EXPECTED.read_text()).values() for name in endpoint}
    assert sections <= {suite.name for suite in SUITES} | set(WITHOUT_FIXTURES)
    assert expected_of("stateless", SUITES[0].name, SUITES[0].protocol)["tools-call-sampling"]
