"""The states of an alert, over any series of evaluations."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.alert_states import FIRING, AlertState, RuleTiming, Signal, Track, normal, step
from tests.telemetry.examples import NOON

EVERY = timedelta(seconds=30)
SERIES = st.lists(st.sampled_from(Signal), max_size=60)
TIMINGS = st.builds(
    RuleTiming,
    pending=st.integers(0, 10).map(lambda n: n * timedelta(seconds=20)),
    recovery=st.integers(0, 10).map(lambda n: n * timedelta(seconds=20)),
)
AT_ONCE = RuleTiming(timedelta(), timedelta())


def replayed(signals: list[Signal], timing: RuleTiming) -> list[Track]:
    """The track before the first evaluation and after each one."""
    tracks = [normal(NOON)]
    for n, signal in enumerate(signals, 1):
        tracks.append(step(tracks[-1], signal, NOON + n * EVERY, timing))
    return tracks


def pages(tracks: list[Track]) -> int:
    """How often somebody is called: an episode fires for the first time."""
    return sum(after.has_fired and not before.has_fired for before, after in pairwise(tracks))


@given(SERIES, TIMINGS)
def test_an_episode_calls_somebody_once_at_most(signals, timing):
    tracks = replayed(signals, timing)
    recoveries = sum(after.state is AlertState.NORMAL and before.has_fired for before, after in pairwise(tracks))
    assert pages(tracks) - recoveries in (0, 1)


@given(st.lists(st.sampled_from([Signal.OVER, Signal.UNDER, Signal.BETWEEN]), max_size=60))
def test_a_flapping_value_that_never_stays_low_calls_somebody_once(signals):
    """Recovery takes 90 seconds here: three evaluations in a row."""
    timing = RuleTiming(timedelta(), timedelta(seconds=90))
    flapping = [each for signal in signals for each in (signal, Signal.OVER)]
    assert pages(replayed([Signal.OVER, *flapping], timing)) == 1


@given(SERIES, TIMINGS)
def test_no_data_and_failed_checks_are_never_normal(signals, timing):
    for signal, after in zip(signals, replayed(signals, timing)[1:], strict=True):
        if signal in (Signal.NO_DATA, Signal.ERROR):
            assert after.state.value == signal.value


@given(SERIES, TIMINGS)
def test_nothing_becomes_normal_while_it_is_over_the_limit(signals, timing):
    for signal, (before, after) in zip(signals, pairwise(replayed(signals, timing)), strict=True):
        if signal is Signal.OVER:
            assert after.state in (AlertState.PENDING, AlertState.ALERTING)
        if before.has_fired and after.state is AlertState.NORMAL:
            assert signal is Signal.UNDER


@given(SERIES, TIMINGS)
def test_it_fires_within_two_evaluations_of_the_pending_time(signals, timing):
    until_due = int(timing.pending / EVERY) + 2
    tracks = replayed([*signals, *[Signal.OVER] * until_due], timing)
    assert tracks[-1].state is AlertState.ALERTING


@given(SERIES, TIMINGS)
def test_it_recovers_within_two_evaluations_of_the_recovery_time(signals, timing):
    until_due = int(timing.recovery / EVERY) + 2
    assert replayed([*signals, *[Signal.UNDER] * until_due], timing)[-1].state is AlertState.NORMAL


@given(SERIES, TIMINGS)
def test_since_is_when_the_state_began(signals, timing):
    for n, (before, after) in enumerate(pairwise(replayed(signals, timing)), 1):
        assert after.since == (before.since if after.state is before.state else NOON + n * EVERY)


@given(SERIES, TIMINGS)
def test_only_what_has_fired_can_recover(signals, timing):
    for track in replayed(signals, timing):
        if track.state in FIRING:
            assert track.has_fired
        if track.state in (AlertState.NORMAL, AlertState.PENDING):
            assert not track.has_fired


@pytest.mark.parametrize(
    ("signals", "state"),
    [
        ([Signal.OVER], AlertState.ALERTING),
        ([Signal.BETWEEN], AlertState.NORMAL),
        ([Signal.OVER, Signal.BETWEEN], AlertState.ALERTING),  # under the limit, not yet recovered
        ([Signal.OVER, Signal.UNDER], AlertState.RECOVERING),
        ([Signal.OVER, Signal.UNDER, Signal.UNDER], AlertState.RECOVERING),
        ([Signal.OVER, Signal.UNDER, Signal.UNDER, Signal.UNDER], AlertState.NORMAL),
        ([Signal.OVER, Signal.UNDER, Signal.BETWEEN, Signal.UNDER], AlertState.RECOVERING),
        ([Signal.OVER, Signal.NO_DATA, Signal.BETWEEN], AlertState.ALERTING),
        ([Signal.OVER, Signal.ERROR, Signal.UNDER], AlertState.RECOVERING),
        ([Signal.NO_DATA, Signal.BETWEEN], AlertState.NORMAL),
        ([Signal.NO_DATA, Signal.OVER], AlertState.ALERTING),
    ],
)
def test_the_states_one_by_one(signals, state):
    timing = RuleTiming(timedelta(), timedelta(seconds=60))
    assert replayed(signals, timing)[-1].state is state


def test_a_short_excess_is_pending_and_calls_nobody():
    timing = RuleTiming(timedelta(seconds=60), timedelta())
    tracks = replayed([Signal.OVER, Signal.OVER, Signal.UNDER], timing)
    assert [track.state for track in tracks[1:]] == [AlertState.PENDING, AlertState.PENDING, AlertState.NORMAL]
    assert pages(tracks) == 0
