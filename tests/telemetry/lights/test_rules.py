"""Each rule of the lights on both sides of its limit."""

from dataclasses import replace
from datetime import timedelta

import pytest

from telemetry.lights import lights_of
from telemetry.lights.checker import Checker
from telemetry.lights.processes import Processes, Recorder, Store
from telemetry.lights.rules import alerting, database, recording, redis, sluice, upstream
from telemetry.states import State
from telemetry.upstream_reports import ProbeReport
from telemetry.wording import SPACE
from tests.telemetry.examples import NOON
from tests.telemetry.lights.examples import WELL, a_report, counted, with_calls, with_processes, with_report


def acme(*rows, **options) -> State:
    return upstream("acme", with_calls(*rows, **options)).state


# -- Sluice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "of", "expected"),
    [
        (6, 100, State.DOWN),
        (5, 100, State.DEGRADED),
        (2, 100, State.DEGRADED),
        (1, 100, State.OK),
        (19, 19, State.OK),  # too few calls
        (20, 20, State.DOWN),
    ],
)
def test_sluice_is_judged_by_its_own_errors(failed, of, expected):
    readings = with_calls(counted(of - failed), counted(failed, "sluice", minute=4))
    assert sluice(readings).state is expected


def test_errors_of_others_are_not_sluices():
    readings = with_calls(counted(10), counted(90, "upstream"), counted(90, "caller"), counted(90, "policy"))
    assert sluice(readings).state is State.OK


def test_own_errors_are_forgotten_after_five_minutes():
    assert sluice(with_calls(counted(100), counted(50, "sluice", minute=5))).state is State.OK
    assert sluice(with_calls(counted(100), counted(50, "sluice", minute=4))).state is State.DOWN


@pytest.mark.parametrize(("mean", "expected"), [(30.0, State.OK), (30.1, State.DEGRADED)])
def test_sluice_is_slow_at_three_times_its_usual_mean(mean, expected):
    assert sluice(with_calls(counted(20, own_ms=20 * mean))).state is expected
    assert sluice(with_calls(counted(19, own_ms=19 * mean))).state is State.OK, "too few calls"


def test_sluice_is_down_without_its_database():
    assert sluice(with_processes(database=Store(is_ok=False, ms=0))).state is State.DOWN


# -- Upstreams --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "answered", "expected"),
    [(5, 0, State.DOWN), (4, 0, State.OK), (3, 3, State.DOWN), (3, 4, State.OK), (0, 9, State.OK)],
)
def test_an_upstream_is_down_when_half_of_five_calls_of_a_minute_failed(failed, answered, expected):
    assert acme(counted(failed, "upstream"), counted(answered)) is expected
    assert acme(counted(failed, "caller"), counted(answered)) is State.OK, "the callers' errors are not its own"


def test_an_upstream_is_down_while_its_breaker_is_open():
    assert upstream("acme", with_report(a_report("open"))).state is State.DOWN
    assert upstream("acme", with_report(a_report("half-open"))).state is State.RECOVERING
    answered = with_calls(counted(50), readings=with_report(a_report("open")))
    assert upstream("acme", answered).state is State.DOWN, "answers from the cache do not hide it"


@pytest.mark.parametrize(
    ("failed", "of", "expected"),
    [(6, 100, State.DEGRADED), (5, 100, State.OK), (2, 19, State.OK), (2, 20, State.DEGRADED)],
)
def test_an_upstream_is_degraded_above_five_percent_of_twenty_calls(failed, of, expected):
    assert acme(counted(of - failed, minute=1), counted(failed, "upstream", minute=4)) is expected


@pytest.mark.parametrize(("p95", "expected"), [(400.0, State.OK), (401.0, State.DEGRADED), (None, State.OK)])
def test_an_upstream_is_degraded_above_twice_its_usual_p95(p95, expected):
    assert acme(counted(50), p95=p95) is expected


def test_an_upstream_without_calls_and_checks_is_not_called_ok():
    light = upstream("acme", with_report(a_report(success=NOON - timedelta(minutes=20))))
    assert light.state is State.NO_DATA
    assert light.facts == (f"no calls, 15{SPACE}min", "last OK 11:40")


@pytest.mark.parametrize(
    ("age", "is_ok", "calls", "expected"),
    [
        (5, True, 0, State.OK),
        (5.1, True, 0, State.NO_DATA),
        (1, False, 0, State.DOWN),
        (1, False, 9, State.DEGRADED),
        (5.1, False, 9, State.OK),
    ],
)
def test_a_health_check_counts_for_five_minutes(age, is_ok, calls, expected):
    probe = ProbeReport(NOON - timedelta(minutes=age), is_ok, 1, 200, "")
    readings = with_calls(counted(calls), readings=with_report(a_report(probe=probe)))
    assert upstream("acme", readings).state is expected


@pytest.mark.parametrize(("answered", "expected"), [(11, State.DOWN), (9, State.DEGRADED)])
def test_an_upstream_that_hangs_is_down_when_its_check_and_its_last_call_failed(answered, expected):
    """Its calls fail only after their time limit, so that few have failed when the check fails."""
    failed = ProbeReport(NOON - timedelta(seconds=5), False, 10_000, 0, "acme has not answered within 10 seconds.")
    ago = {name: NOON - timedelta(seconds=seconds) for name, seconds in (("failure", 10), ("success", answered))}
    report = a_report(probe=failed, **ago)
    readings = with_calls(counted(6), counted(1, "upstream"), readings=with_report(report))
    assert upstream("acme", readings).state is expected


# -- Stores, recording, alerting --------------------------------------------------------------------


@pytest.mark.parametrize(("ms", "expected"), [(100, State.OK), (101, State.DEGRADED)])
def test_a_store_is_degraded_above_a_ping_of_100_ms(ms, expected):
    assert database(with_processes(database=Store(is_ok=True, ms=ms))).state is expected
    assert redis(Store(is_ok=True, ms=ms)).state is expected


def test_calls_go_on_without_redis_but_not_without_the_database():
    assert redis(Store(is_ok=False, ms=0)).state is State.DEGRADED
    assert database(with_processes(database=Store(is_ok=False, ms=0))).state is State.DOWN
    assert database(with_processes(database=None)).state is State.NO_DATA
    assert database(with_processes(database=Store(is_ok=True, ms=1, has_room=False))).state is State.DEGRADED


@pytest.mark.parametrize(
    ("lag", "lost", "expected"), [(10, 0, State.OK), (10.1, 0, State.DEGRADED), (0, 1, State.DEGRADED)]
)
def test_recording_is_degraded_above_ten_seconds_or_with_a_lost_call(lag, lost, expected):
    assert recording(with_processes(recorder=Recorder(lag, lost, None))).state is expected


def test_recording_says_where_the_figures_end_and_how_many_calls_are_missing():
    late = recording(with_processes(recorder=Recorder(47, 0, None)))
    assert late.said == f"Figures end at 11:59:13, 47{SPACE}s ago. Calls are still answered; recording is behind"
    lost = recording(with_processes(recorder=Recorder(0, 213, NOON - timedelta(minutes=3))))
    assert lost.said == (
        "213 calls around 11:57 were answered but not recorded (queue full). Totals are too low by that number"
    )


@pytest.mark.parametrize(
    ("seconds", "rules", "expected"),
    [(90, 9, State.OK), (91, 9, State.DOWN), (None, 9, State.DOWN), (None, 0, State.NO_DATA)],
)
def test_alerting_is_down_if_nothing_was_checked_for_90_seconds(seconds, rules, expected):
    checked_at = None if seconds is None else NOON - timedelta(seconds=seconds)
    assert alerting(replace(WELL, alerting=Checker(checked_at, rules))).state is expected


# -- All together -----------------------------------------------------------------------------------


def test_sluice_stands_first_and_the_bad_before_the_good():
    readings = with_calls(
        counted(9, upstream="a-good"),
        counted(9, "upstream", upstream="z-down"),
        readings=with_processes(redis=Store(False, 0)),
    )
    lights = lights_of(readings)
    assert [light.name for light in lights.all] == [
        "Sluice",
        "z-down",
        "Redis",
        "a-good",
        "acme",
        "Database",
        "Recording",
        "Alerting",
    ]
    assert (lights.state, lights.words, lights.title) == (State.DOWN, "2 problems", "z-down down, 1 more")


def test_all_is_well_only_with_calls():
    assert lights_of(with_calls(counted(3))).state is State.OK
    silent = lights_of(WELL)
    assert (silent.state, silent.words) == (State.NO_DATA, "No calls")


def test_nothing_is_green_while_no_process_reports():
    lights = lights_of(replace(with_calls(counted(3)), processes=Processes()))
    states = {light.name: light.state for light in lights.all}
    assert states["Database"] is states["Recording"] is State.NO_DATA
    assert lights.state is State.NO_DATA


@pytest.mark.parametrize(("seconds", "expected"), [(10, State.NO_DATA), (100, State.DOWN)])
def test_a_first_start_has_some_time_for_the_first_check_of_rules(seconds, expected):
    started = replace(WELL.processes, started_at=NOON - timedelta(seconds=seconds))
    assert alerting(replace(WELL, processes=started, alerting=Checker(None, 9))).state is expected
