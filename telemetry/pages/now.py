"""The page Now, for people on call: the state, its start, how much fails, whose fault it is, and the changes before
it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import lights, queries, wording
from telemetry.lights.light import Component, Light, Lights
from telemetry.lights.since import Since, since
from telemetry.lights.verdict import CallCounts, verdict
from telemetry.models import Event
from telemetry.pages import now_tables
from telemetry.pages.address import Address
from telemetry.pages.alert_list import MAY_CHANGE, open_lines
from telemetry.pages.charts import Mark
from telemetry.pages.marks import mark_of
from telemetry.pages.origin_bars import OriginBars, origin_bars
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.ranges import LABELS
from telemetry.pages.shared_values import SharedValues, shared_values
from telemetry.pages.shell import page, show
from telemetry.queries import Span
from telemetry.queries.recent import MINUTES
from telemetry.queries.shares import shares
from telemetry.states import State

HOUR = timedelta(hours=1)
CHANGES = (Event.EventKind.CHANGE, Event.EventKind.DEPLOYMENT, Event.EventKind.TOOL_LIST)
NEWEST_EVENTS, SHOWN_CHANGES, SHOWN_BEFORE = 100, 10, 3


@dataclass(frozen=True, slots=True)
class LinkedLight:
    """A light with the links of its name and of its calls."""

    light: Light
    facts: tuple[str, ...]
    link: str
    calls: str


@dataclass(frozen=True, slots=True)
class Before:
    """The changes in the hour before a light became bad. `deployed`: the last deployment, if before that hour."""

    changes: tuple[Mark, ...]
    deployed: str


@require_safe
@page(default_range="15m", default_refresh=10)
def now(request: HttpRequest, address: Address) -> HttpResponseBase:
    seen = guarded("Lights", lights.lights_now)
    everything = seen.content
    worst = everything.worst if everything else None
    began = guarded("Since", lambda: since(worst, address.now) if worst else None).content
    events = guarded("Last changes", lambda: list(Event.objects.filter(at__lt=address.span[1])[:NEWEST_EVENTS]))
    changes = [mark_of(event) for event in events.content or ()]
    bars = guarded("Errors by origin", lambda: _bars(address, changes))
    counts = guarded("Counts", lambda: _counts(address, bars.content, worst))
    sentence = UNREADABLE if seen.failure else ""
    if everything and counts.content:
        sentence = verdict(everything, counts.content, began, address.now)
    return show(
        request,
        address,
        "telemetry/now.html",
        title="Now",
        tab=everything.title if everything else "State not known",
        state=everything.state if everything else State.ERROR,
        sentence=sentence,
        notes=_notes(everything, worst),
        has_comparison=False,
        has_recorder_notes=False,
        lights=seen,
        shown=_shown(address, everything, began) if everything else [],
        before=_before(changes, began.at if began else address.now) if worst else None,
        bars=bars,
        alerts=guarded("Alerts", lambda: open_lines(address.now)),
        may_change=request.user.has_perm(MAY_CHANGE),
        return_to=request.get_full_path(),
        shared=guarded("What the failed calls share", lambda: _shared(address, bars.content)),
        events=events,
        changes=changes[:SHOWN_CHANGES],
        tools=guarded("Worst tools", lambda: now_tables.worst_tools(address)),
        callers=guarded("Worst callers", lambda: now_tables.worst_callers(address)),
        failed=guarded("Newest failed calls", lambda: now_tables.newest_failed(address)),
        without_filters=_without_filters(address, bars.content),
    )


def during(address: Address) -> str:
    """in the last 15 minutes, or from … to …"""
    if address.range:
        label = LABELS[address.range]
        return f"in the last {label.removeprefix('1 ')}"
    return address.during


def _bars(address: Address, changes: Sequence[Mark]) -> OriginBars:
    span = Span.of(*address.span)
    series = queries.series(span, address.selection, split="upstream", wanted=queries.COUNTS)
    return origin_bars(address, series, changes)


def _counts(address: Address, bars: OriginBars | None, worst: Light | None) -> CallCounts:
    if bars is None:
        return CallCounts(during(address))
    if not bars.calls:
        return CallCounts(during(address), last_at=queries.last_call_at())
    of_worst = None
    if worst and worst.part is Component.UPSTREAM and bars.failed:
        of_worst = bars.because_of.get(worst.name, 0)
    return CallCounts(during(address), bars.calls, bars.failed, bars.origins, of_worst)


def _shared(address: Address, bars: OriginBars | None) -> SharedValues:
    calls = bars.calls if bars else 0
    return shared_values(address, shares(Span.of(*address.span), address.selection), calls)


def _before(changes: Sequence[Mark], at: datetime) -> Before:
    """`changes`: the newest first. `at`: when the light became bad; that minute still belongs to the hour."""
    until = at + timedelta(minutes=1)
    found = [mark for mark in changes if mark.kind in CHANGES and until - HOUR <= mark.at <= until]
    deployed = next((mark for mark in changes if mark.kind == Event.EventKind.DEPLOYMENT and mark.at <= until), None)
    is_shown = deployed in found
    return Before(tuple(found[:SHOWN_BEFORE]), "" if deployed is None or is_shown else wording.minute(deployed.at))


def _notes(everything: Lights | None, worst: Light | None) -> list[str]:
    """Warnings about wrong figures, which the page shows even if its sentence is about a worse problem."""
    bad = everything.bad if everything else ()
    return [f"{light.said}." for light in bad if light.part is Component.RECORDING and light is not worst]


def _shown(address: Address, everything: Lights, began: Since | None) -> list[LinkedLight]:
    found = []
    for light in everything.all:
        has_begun = began and light is everything.worst and not began.is_before
        lasted = (
            (f"{light.state.word.lower()} for {wording.age(address.now - began.at)}",) if began and has_begun else ()
        )
        found.append(LinkedLight(light, (*lasted, *light.facts), *_links(address, light)))
    return found


def _links(address: Address, light: Light) -> tuple[str, str]:
    """The links of a light's name and of its calls: all calls of the last minutes, whatever filters the page has."""
    everything = address.unfiltered
    recent = everything.at(address.now - timedelta(minutes=MINUTES), address.now)
    match light.part:
        case Component.UPSTREAM:
            return everything.to("upstream", light.name), recent.to("calls", upstream=light.name)
        case Component.SLUICE:
            return everything.to("overview"), recent.to("calls", origin="sluice")
        case Component.ALERTING:
            return everything.to("alerts"), ""
    return "", ""


def _without_filters(address: Address, bars: OriginBars | None) -> int | None:
    """The number of calls without the filters, if there is none with them."""
    if bars is None or bars.calls or not address.filter_count:
        return None
    return queries.totals(Span.of(*address.span), wanted=queries.COUNTS).calls
