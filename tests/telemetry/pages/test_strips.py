"""States over time, drawn."""

from datetime import timedelta

from django.utils import timezone

from telemetry.pages.strips import Stretch, stretches, strip
from telemetry.states import State
from tests.telemetry.examples import NOON

HOUR = timedelta(hours=1)


def at(minutes: float):
    return NOON + timedelta(minutes=minutes)


def test_a_state_is_as_wide_as_it_lasted():
    with timezone.override("UTC"):
        drawn = strip(
            stretches([(at(0), State.PENDING, "Pending"), (at(15), State.DOWN, "Firing")], at(45)), NOON, NOON + HOUR
        )
    assert [(each.colour, each.x, each.width) for each in drawn.pieces] == [
        ("pending", "0", "250"),
        ("down", "250", "500"),
    ]
    assert drawn.words.replace("\u00a0", " ") == "12:00: Pending (15 min); 12:15: Firing (30 min)"


def test_the_shortest_state_can_be_seen_and_the_worst_lies_above():
    short = Stretch(at(59.99), at(60), State.DOWN, "Firing")
    drawn = strip([short, Stretch(NOON, NOON + HOUR, State.OK, "Normal")], NOON, NOON + HOUR)
    assert [(each.colour, each.x, each.width) for each in drawn.pieces] == [("ok", "0", "1000"), ("down", "996", "4")]


def test_what_lies_outside_is_left_out_and_what_reaches_in_is_cut():
    before, reaching = (Stretch(at(-90), at(-30), State.DOWN, "x"), Stretch(at(-30), at(30), State.DEGRADED, "y"))
    drawn = strip([before, reaching], NOON, NOON + HOUR)
    assert [(each.colour, each.x, each.width) for each in drawn.pieces] == [("degraded", "0", "500")]


def test_states_differ_in_height_not_only_in_colour():
    drawn = strip(
        [Stretch(at(n), at(n + 1), each, "") for n, each in enumerate((State.OK, State.PENDING, State.DOWN))],
        NOON,
        NOON + HOUR,
    )
    assert len({each.height for each in drawn.pieces}) == 3


def test_what_comes_and_goes_all_the_time_is_drawn_once_for_each_place():
    flapping = [Stretch(at(n / 100), at(n / 100 + 0.005), State.DOWN, "Firing") for n in range(6000)]
    assert len(strip(flapping, NOON, NOON + HOUR).pieces) <= 1001


def test_an_alert_that_changed_no_state_has_nothing_to_draw():
    assert stretches([], NOON) == []
    assert strip([], NOON, NOON + HOUR).pieces == ()
