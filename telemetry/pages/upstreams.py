"""The list of upstreams, also those without calls."""

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import queries, wording
from telemetry.call_figures import CallFigures
from telemetry.pages import export, facts
from telemetry.pages.address import Address
from telemetry.pages.group_table import AT_MOST
from telemetry.pages.panels import guarded
from telemetry.pages.reports import UpstreamReport, upstream_reports
from telemetry.pages.shell import page, show
from telemetry.pages.states import State
from telemetry.pages.tables import Cell, Column, Table, table
from telemetry.queries import Span

COLUMNS = (
    Column("upstream", "Upstream", is_number=False),
    Column("state", "State", is_number=False),
    Column("calls", "Calls"),
    Column("failed", "Failed"),
    Column("requests", "Requests"),
    Column("p95", "p95"),
    Column("cached", "From cache"),
    Column("success", "Last success", is_number=False),
)
BREAKERS = {
    "closed": (State.OK, "breaker closed"),
    "half-open": (State.RECOVERING, "breaker half open"),
    "open": (State.DOWN, "breaker open"),
}


@require_safe
@page(since_first=queries.first_call_at)
def upstreams(request: HttpRequest, address: Address) -> HttpResponseBase:
    if form := export.wanted(request):
        return export.exported(_table(address, upstream_reports()), form, "upstreams")
    reports = upstream_reports()
    away = [name for name, report in reports.items() if report.breaker == "open"]
    return show(
        request,
        address,
        "telemetry/upstreams.html",
        title="Upstreams",
        state=State.DOWN if away else None,
        sentence=_sentence(away, len(reports)),
        exports=export.FORMS,
        groups=guarded("Upstreams", lambda: _table(address, reports)),
    )


def breaker(report: UpstreamReport | None) -> tuple[State, str]:
    """The state that the processes report, and its words."""
    return BREAKERS[report.breaker] if report else (State.NO_DATA, "no process reports it")


def _sentence(away: Sequence[str], reported: int) -> str:
    if away:
        of_all = f"{len(away)} of {wording.plural(reported, 'upstream')}"
        return f"{of_all} not tried, because the breaker is open: {', '.join(away)}."
    if not reported:
        return "No process reports an upstream."
    return f"{wording.plural(reported, 'upstream')}, no breaker is open."


def _table(address: Address, reports: Mapping[str, UpstreamReport]) -> Table:
    groups = queries.groups(
        Span.of(*address.span),
        address.selection,
        by=("upstream",),
        at_most=AT_MOST,
        wanted=queries.SUMS_AND_UPSTREAM_TIMES,
    )
    figures = {str(group.values[0]): group.figures for group in groups if group.values[0]}
    names = sorted({*figures, *reports, *facts.upstreams.all()})
    rows = [_row(address, name, figures.get(name, CallFigures()), reports.get(name)) for name in names]
    return table(
        address,
        key="groups",
        title="Upstreams",
        columns=COLUMNS,
        rows=rows,
        sort="-calls",
        note="Calls are what clients made; requests are what was sent to the upstream for them, tries included.",
        empty="No upstream is connected, and no call needed one.",
    )


def _row(address: Address, name: str, seen: CallFigures, report: UpstreamReport | None) -> list[Cell]:
    state, said = breaker(report)
    cached = seen.cached_calls / seen.calls if seen.calls else None
    last = report.last_success_at if report else None
    requests = int(seen.total("attempts"))
    return [
        Cell(name, address.to("upstream", name), is_code=True),
        Cell(said, state=state),
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
