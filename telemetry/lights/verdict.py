"""Sums up the lights in a sentence or two: what is bad, since when, how many calls failed, and because of whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from telemetry import wording
from telemetry.lights.light import Component, Light, Lights
from telemetry.lights.since import Since

BECAUSE_OF = {"upstream": "upstreams", "sluice": "Sluice", "caller": "callers", "policy": "limits you set"}
UNREPORTED = "No process has reported for 30 seconds, so the states of stores and upstreams are not known."
MANY_FAILED = 0.05  # a larger share of failed calls is explained even if all lights are good


@dataclass(frozen=True, slots=True)
class CallCounts:
    """The calls in the page's range. `during`: the range in words: "in the last 15 minutes". `origins`: failed calls by
    origin. `of_worst`: calls that failed because of the upstream of the worst light. `last_at`: the last call before
    the range, if the range has none."""

    during: str
    calls: int = 0
    failed: int = 0
    origins: Mapping[str, int] = field(default_factory=dict)
    of_worst: int | None = None
    last_at: datetime | None = None


def verdict(lights: Lights, counts: CallCounts, began: Since | None, now: datetime) -> str:
    if lights.worst:
        return f"{_problem(lights, lights.worst, began, now)} {_counted(lights.worst, counts)}"
    if not counts.calls and counts.last_at is None:
        return "No calls yet. Connect a client and make one: it appears here within 2 seconds."
    if not counts.calls:
        checks = " Upstream states come from health checks." if lights.has_probes else ""
        return f"No calls {counts.during}; the last one was at {_at(counts.last_at, now)}.{checks}"
    share = counts.failed / counts.calls
    failed = f"{wording.share(share)} failed" if counts.failed else "none failed"
    because_of = f", {_main_origin(counts)}" if share > MANY_FAILED else ""
    return f"{_without_problems(lights)} {_calls(counts.calls)} {counts.during}, {failed}{because_of}."


def _without_problems(lights: Lights) -> str:
    if not lights.has_calls:
        return "No calls in the last 15 minutes."
    return "Everything works." if lights.is_reported else UNREPORTED


def _problem(lights: Lights, worst: Light, began: Since | None, now: datetime) -> str:
    said = f"{worst.said} {began.words(now)}" if began else worst.said
    ended = said if said.endswith(("?", ".")) else f"{said}."
    others = [light.in_a_title for light in lights.bad if light is not worst]
    return f"{ended} Also {', '.join(others)}." if others else ended


def _counted(worst: Light, counts: CallCounts) -> str:
    if not counts.calls:
        return f"No calls {counts.during}."
    if not counts.failed:
        return f"{_calls(counts.calls)} {counts.during}, none failed."
    share = wording.share(counts.failed / counts.calls)
    failed = f"{wording.whole(counts.failed)} of {_calls(counts.calls)} failed {counts.during} ({share})"
    return f"{failed}; {_because_of(worst, counts)}."


def _because_of(worst: Light, counts: CallCounts) -> str:
    if worst.part is Component.UPSTREAM and counts.of_worst is not None:
        return f"{wording.whole(counts.of_worst)} of them because of {worst.name}"
    if worst.part is Component.SLUICE:
        return f"{wording.whole(counts.origins.get('sluice', 0))} of them because of Sluice"
    return _main_origin(counts)


def _main_origin(counts: CallCounts) -> str:
    """209 of them because of upstreams"""
    count, origin = max(((n, name) for name, n in counts.origins.items() if name), default=(0, ""))
    return f"{wording.whole(count)} of them because of {BECAUSE_OF[origin]}" if count else "the origin is not known"


def _calls(count: int) -> str:
    return wording.plural(count, "call")


def _at(moment: datetime | None, now: datetime) -> str:
    return wording.clock(moment, now) if moment else wording.NOTHING
