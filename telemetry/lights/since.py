"""The time since which a light is bad."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from telemetry import queries, wording
from telemetry.lights.light import Component, Light
from telemetry.queries import Selection, Span

LOOKED_BACK = timedelta(hours=6)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Since:
    """`is_before`: the bad state began before `at`, the earliest time that was examined."""

    at: datetime
    is_before: bool = False

    def words(self, now: datetime) -> str:
        """since 14:02 (11 min), or since before 08:13"""
        if self.is_before:
            return f"since before {wording.clock(self.at, now)}"
        return f"since {wording.clock(self.at, now)} ({wording.age(now - self.at)})"


@dataclass(frozen=True, slots=True)
class Minute:
    """The calls of one minute, without those answered from a cache, which say nothing about an upstream."""

    start: datetime
    calls: int
    failed: int


def since(light: Light, now: datetime) -> Since | None:
    """The time since which the light is bad. None: its state does not come from calls, or no call shows it."""
    if light.bad_share is None:
        return None
    span = Span(now - LOOKED_BACK, now, MINUTE)
    selection = Selection().and_also(upstream=light.name) if light.part is Component.UPSTREAM else Selection()
    buckets = queries.series(span, selection, wanted=queries.COUNTS).buckets
    minutes = [
        Minute(
            bucket.start,
            bucket.figures.calls - bucket.figures.cached_calls,
            bucket.figures.origins.get(str(light.part), 0),
        )
        for bucket in buckets
    ]
    return first_bad(minutes, light.bad_share)


def first_bad(minutes: Iterable[Minute], bad_share: float) -> Since | None:
    """The first minute of the unbroken bad stretch at the end of `minutes`. Minutes without calls do not break it."""
    first, oldest = None, None
    for minute in reversed(list(minutes)):
        oldest = minute
        if not minute.calls:
            continue
        if not minute.failed or minute.failed < bad_share * minute.calls:
            break
        first = minute
    if first is None:
        return None
    return Since(first.start, is_before=first is oldest)
