"""Overview: all calls of a span, compared with the span before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import lights, processes, queries, wording
from telemetry.call_figures import CallFigures, share
from telemetry.lights.light import Light
from telemetry.pages import export
from telemetry.pages.address import DIMENSIONS, Address
from telemetry.pages.call_charts import call_charts
from telemetry.pages.call_tiles import answered, call_tiles
from telemetry.pages.charts import Chart
from telemetry.pages.emptiness import Emptiness, emptiness
from telemetry.pages.group_table import AT_MOST, group_table
from telemetry.pages.marks import marks
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Table
from telemetry.pages.tiles import Fact, Tile
from telemetry.pages.words import ORIGINS
from telemetry.queries import Selection, Span
from telemetry.states import State

WHOSE = {**ORIGINS, "upstream": "upstreams", "caller": "callers", "policy": "limits you set"}


@dataclass(frozen=True, slots=True)
class Calls:
    """The content of a page's first panel. `nothing`: why there is no call."""

    seen: CallFigures
    tiles: Sequence[Tile]
    nothing: Emptiness | None


@require_safe
@page(since_first=queries.first_call_at)
def overview(request: HttpRequest, address: Address) -> HttpResponseBase:
    selection = address.selection
    by = address.by or ("tool",)
    if form := export.wanted(request):
        return export.exported(_groups(address, selection, by), form, "overview")
    groups = guarded("By group", lambda: _groups(address, selection, by))
    calls = guarded("Figures", lambda: figures_of(address, selection))
    seen = calls.content.seen if calls.content else CallFigures()
    charts = guarded("Charts", lambda: charts_of(address, selection, seen))
    lit = guarded("Lights", lights.lights_now)
    worst = lit.content.worst if lit.content and address.range else None
    return show(
        request,
        address,
        "telemetry/overview.html",
        title="Overview",
        state=State.ERROR if calls.failure else worst.state if worst else None,
        sentence=_sentence(worst, calls.content.seen) if calls.content else UNREADABLE,
        lights=lit,
        exports=export.FORMS,
        calls=calls,
        nothing=calls.content and calls.content.nothing,
        charts=charts,
        more=guarded("Facts", lambda: _facts(address, selection, seen)),
        groups=groups,
        by=by,
        dimensions=DIMENSIONS.items(),
        marks=guarded("Changes", lambda: marks(*address.span)),
    )


def figures_of(address: Address, selection: Selection) -> Calls:
    """The figures and tiles of the selected calls. The series, which the charts need too, are read first: the totals
    are then added up from them without another query."""
    queries.series(Span.of(*address.span), selection)
    seen = queries.totals(Span.of(*address.span), selection)
    before = queries.totals(Span.of(*address.before), selection) if address.before else None
    return Calls(seen, call_tiles(address, seen, before), None if seen.calls else emptiness(address, selection))


def charts_of(
    address: Address, selection: Selection, seen: CallFigures, subjects: Sequence[str] = ()
) -> Mapping[str, Chart]:
    series = queries.series(Span.of(*address.span), selection)
    return call_charts(address, seen, series, marks(*address.span, subjects))


def _groups(address: Address, selection: Selection, by: tuple[str, ...]) -> Table:
    return group_table(
        address,
        selection,
        by,
        title=f"By {' and '.join(DIMENSIONS[name].lower() for name in by)}",
        empty=nothing(address),
    )


def nothing(address: Address) -> str:
    """The reason why a table has no rows."""
    filtered = " with these filters" if address.filter_count else ""
    return f"No calls {address.during}{filtered}."


def _sentence(worst: Light | None, seen: CallFigures) -> str:
    now = f"{worst.sentence} " if worst else ""
    if not seen.calls:
        return now
    said = f"{now}{wording.plural(seen.calls, 'call')}, {wording.share(answered(seen))} answered."
    if not seen.errors:
        return f"{said} None failed."
    count, origin = max((count, name) for name, count in seen.origins.items())
    whose = f"{wording.whole(count)} because of {WHOSE[origin]}" if origin in WHOSE else "of unknown origin"
    return f"{said} {wording.whole(seen.errors)} failed, {whose}."


def _facts(address: Address, selection: Selection, seen: CallFigures) -> list[Fact]:
    """The figures that are shown as lines instead of tiles."""
    keys = queries.groups(Span.of(*address.span), selection, by=("key",), at_most=AT_MOST, wanted=queries.COUNTS)
    return [
        Fact("Lists read by pages", wording.share(seen.pagination_adoption)),
        Fact("From cache", wording.share(share(seen.cached_calls, seen.calls)), address.to("calls", cache="yes")),
        Fact("Active callers", wording.whole(len(keys)), address.to("callers")),
        *_tool_list(),
    ]


def _tool_list() -> list[Fact]:
    """The tokens of all tool definitions and their budget, from the newest report of a process."""
    reports = sorted(processes.alive(), key=lambda each: each.seen_at, reverse=True)
    listed = next((each.report["toolList"] for each in reports if each.report.get("toolList")), None)
    if listed is None:
        return []
    return [Fact("Tool list", f"{wording.whole(listed['tokens'])} of {wording.whole(listed['budget'])} tokens")]
