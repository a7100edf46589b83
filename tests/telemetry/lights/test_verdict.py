"""The sentence that sums up the lights."""

from dataclasses import replace
from datetime import timedelta

from telemetry.lights import lights_of
from telemetry.lights.checker import Checker
from telemetry.lights.processes import Recorder
from telemetry.lights.since import Since
from telemetry.lights.verdict import CallCounts, verdict
from telemetry.upstream_reports import ProbeReport
from telemetry.wording import SPACE
from tests.telemetry.examples import NOON
from tests.telemetry.lights.examples import WELL, a_report, counted, with_calls, with_processes, with_report

DURING = "in the last 15 minutes"
STORY = CallCounts(DURING, 684, 212, {"upstream": 209, "caller": 3, "sluice": 0, "policy": 0}, of_worst=209)


def said(readings, counts=STORY, began=None) -> str:
    return verdict(lights_of(readings), counts, began, NOON).replace(SPACE, " ")


def test_a_dead_upstream_is_named_with_since_how_much_and_whose():
    readings = with_calls(counted(9, "upstream"))
    assert said(readings, began=Since(NOON - timedelta(minutes=11))) == (
        "acme is down since 11:49 (11 min). "
        "212 of 684 calls failed in the last 15 minutes (31.0%); 209 of them because of acme."
    )


def test_other_problems_are_named_too():
    readings = replace(with_calls(counted(9, "upstream")), alerting=Checker(NOON - timedelta(minutes=2), 9))
    assert said(readings).startswith("acme is down. Also Alerting down. 212 of")


def test_own_errors_are_called_sluices():
    readings = with_calls(counted(80), counted(20, "sluice"))
    counts = CallCounts(DURING, 100, 20, {"sluice": 20})
    assert said(readings, counts) == (
        "Sluice itself fails. 20 of 100 calls failed in the last 15 minutes (20.0%); 20 of them because of Sluice."
    )


def test_all_well_is_one_sentence():
    well = with_calls(counted(9))
    assert said(well, CallCounts("in the last hour", 2140, 4, {"caller": 4})) == (
        "Everything works. 2,140 calls in the last hour, 0.2% failed."
    )
    assert said(well, CallCounts(DURING, 9)) == "Everything works. 9 calls in the last 15 minutes, none failed."


def test_many_failed_calls_are_somebodys_though_everything_works():
    counts = CallCounts(DURING, 100, 40, {"caller": 39, "policy": 1})
    assert said(with_calls(counted(9)), counts).endswith("40.0% failed, 39 of them because of callers.")


def test_no_traffic_is_said():
    counts = CallCounts(DURING, last_at=NOON - timedelta(minutes=33))
    assert said(WELL, counts) == "No calls in the last 15 minutes; the last one was at 11:27."
    probed = with_report(a_report(probe=ProbeReport(NOON, True, 1, 200, "")))
    assert said(probed, counts).endswith("Upstream states come from health checks.")
    assert said(WELL, CallCounts(DURING)).startswith("No calls yet. Connect a client")


def test_silence_is_not_called_well_on_a_longer_range():
    counts = CallCounts("in the last 24 hours", 500, 0)
    assert said(WELL, counts) == "No calls in the last 15 minutes. 500 calls in the last 24 hours, none failed."


def test_a_late_recorder_and_a_dead_checker_are_said():
    late = with_calls(counted(9), readings=with_processes(recorder=Recorder(47, 0, None)))
    assert said(late).startswith("Figures end at 11:59:13, 47 s ago. Calls are still answered; recording is behind.")
    dead = replace(with_calls(counted(9)), alerting=Checker(NOON - timedelta(minutes=2), 9))
    assert said(dead).startswith("Alerts have not been checked since 11:58. Is the beat process running? 212 of 684")
