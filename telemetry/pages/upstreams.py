"""The list of upstreams, including those without calls."""

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import facts, lights, queries, wording
from telemetry.call_figures import CallFigures
from telemetry.lights.light import Component, Light, Lights
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.group_table import AT_MOST
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span
from telemetry.states import State
from telemetry.upstream_reports import UpstreamReport, upstream_reports

COLUMNS = (
    TableColumn("upstream", "Upstream", is_number=False),
    TableColumn("state", "State", is_number=False),
    TableColumn("calls", "Calls"),
    TableColumn("failed", "Failed"),
    TableColumn("requests", "Requests"),
    TableColumn("p95", "p95"),
    TableColumn("cached", "From cache"),
    TableColumn("success", "Last success", is_number=False),
)
BREAKERS = {
    "closed": (State.OK, "breaker closed"),
    "half-open": (State.RECOVERING, "breaker half open"),
    "open": (State.DOWN, "breaker open"),
}


@require_safe
@page(since_first=queries.first_call_at)
def upstreams(request: HttpRequest, address: Address) -> HttpResponseBase:
    seen = guarded("Lights", lights.lights_now)
    if form := export.wanted(request):
        return export.exported(_table(address, upstream_reports(), seen.content), form, "upstreams")
    reports = upstream_reports()
    bad = [light for light in seen.content.bad if light.part is Component.UPSTREAM] if seen.content else []
    return show(
        request,
        address,
        "telemetry/upstreams.html",
        title="Upstreams",
        state=State.ERROR if seen.failure else bad[0].state if bad else None,
        sentence=_sentence(bad, len(reports)) if seen.content else UNREADABLE,
        lights=seen,
        exports=export.FORMS,
        groups=guarded("Upstreams", lambda: _table(address, reports, seen.content)),
    )


def breaker(report: UpstreamReport | None) -> tuple[State, str]:
    """The state that the processes report, and its words."""
    return BREAKERS[report.breaker] if report else (State.NO_DATA, "no process reports it")


def _sentence(bad: Sequence[Light], reported: int) -> str:
    if bad:
        return f"{'. '.join(light.said for light in bad)}. {wording.plural(reported, 'upstream')} in all."
    if not reported:
        return "No process reports an upstream."
    return f"{wording.plural(reported, 'upstream')}, none is down or degraded."


def _table(address: Address, reports: Mapping[str, UpstreamReport], seen: Lights | None) -> Table:
    groups = queries.groups(
        Span.of(*address.span),
        address.selection,
        by=("upstream",),
        at_most=AT_MOST,
        wanted=queries.SUMS_AND_UPSTREAM_TIMES,
    )
    figures = {str(group.values[0]): group.figures for group in groups if group.values[0]}
    names = sorted({*figures, *reports, *facts.upstreams.all()})
    lit = {name: seen.of_upstream(name) if seen else None for name in names}
    rows = [_row(address, name, figures.get(name, CallFigures()), reports.get(name), lit[name]) for name in names]
    return table(
        address,
        key="groups",
        title="Upstreams",
        columns=COLUMNS,
        rows=rows,
        sort="-calls",
        note="Calls: made by clients. Requests: sent to the upstream for these calls, including repeated ones.",
        empty="No upstream is connected, and no call needed one.",
        is_exported=True,
    )


def _row(
    address: Address, name: str, seen: CallFigures, report: UpstreamReport | None, light: Light | None
) -> list[Cell]:
    state = light.state if light else breaker(report)[0]
    cached = seen.cached_calls / seen.calls if seen.calls else None
    last = report.last_success_at if report else None
    requests = int(seen.total("attempts"))
    return [
        Cell(name, address.to("upstream", name), is_code=True),
        Cell(f"{state.word}, {breaker(report)[1]}", state=state),
        Cell(wording.whole(seen.calls), address.to("calls", upstream=name), seen.calls),
        Cell(
            wording.share(seen.error_share),
            address.to("calls", upstream=name, outcome="error") if seen.errors else "",
            seen.error_share,
        ),
        Cell(wording.whole(requests), value=requests),
        Cell(wording.milliseconds(seen.upstream_latency.p95), value=seen.upstream_latency.p95),
        Cell(wording.share(cached), value=cached),
        Cell(wording.moment(last) if last else wording.NOTHING, value=last.isoformat() if last else None),
    ]
