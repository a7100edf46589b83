"""The lights of "Now": Sluice, each upstream, the stores, recording and alerting; and the sentence that sums them up.

readings.py    the reports of processes, the calls of the last minutes and usual values, read from the database
rules.py       readings ──► lights; pure
since.py       the time when a light became bad: the first minute of the unbroken bad stretch
verdict.py     lights + counts ──► the sentence; pure

The page Now, the state in the header of all pages, the home page and the admin's index show these lights.
"""

from telemetry import page_memory
from telemetry.lights.light import Light, Lights
from telemetry.lights.readings import Readings, read
from telemetry.lights.rules import lights_of

__all__ = ["Light", "Lights", "Readings", "lights_now", "lights_of", "read"]


def lights_now() -> Lights:
    """The lights, computed once per page."""
    return page_memory.remembered("lights", lambda: lights_of(read()))
