"""One tool: its state, figures, errors, callers and arguments."""

from collections.abc import Sequence
from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import facts, queries, wording
from telemetry.call_figures import CallFigures, share
from telemetry.models import TelemetryRecord
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.conditions import condition
from telemetry.pages.group_table import group_table
from telemetry.pages.latest_calls import latest_calls
from telemetry.pages.marks import marks
from telemetry.pages.overview import charts_of, figures_of
from telemetry.pages.panels import UNREADABLE, guarded, is_missing
from telemetry.pages.reason_table import reason_table
from telemetry.pages.recommendation import recommendation
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.pages.tiles import Fact
from telemetry.queries import Selection, Span
from telemetry.queries.usage import argument_usage
from telemetry.states import State

CHARTS = ("outcomes", "origins", "means", "tokens")
BY = ("key", "client")
MONTH = timedelta(days=30)


@require_safe
@page(default_range="1h", subject="tool")
def tool(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    known = facts.tools.get(name)
    if known is None and is_missing(TelemetryRecord.objects.filter(operation=name).exists):
        raise Http404
    selection = address.selection.and_also(tool=name)
    if form := export.wanted(request):
        return export.exported(_callers(address, selection, name), form, f"tool-{name}")
    upstreams = guarded("Upstreams", lambda: _upstreams(address, name)).content or ()
    subjects = [name, *upstreams]
    callers = guarded("Who calls it", lambda: _callers(address, selection, name))
    calls = guarded("Figures", lambda: figures_of(address, selection))
    seen = calls.content.seen if calls.content else CallFigures()
    state = guarded("State", lambda: condition(address, selection))
    drawn = guarded("Charts", lambda: charts_of(address, selection, seen, subjects))
    return show(
        request,
        address,
        "telemetry/tool.html",
        title=name,
        state=state.content.state if state.content else State.ERROR,
        sentence=state.content.sentence if state.content else UNREADABLE,
        exports=export.FORMS,
        name=name,
        known=known,
        facts=guarded("Facts", lambda: _facts(address, known, upstreams, seen)).content or (),
        calls=calls,
        nothing=calls.content and calls.content.nothing,
        charts=drawn,
        shown=[drawn.content[key] for key in CHARTS] if drawn.content else [],
        reasons=guarded("Errors by reason", lambda: reason_table(address, selection)),
        recommended=guarded("Recommendation", lambda: recommendation(address, known)),
        callers=callers,
        usage=guarded("How it is called", lambda: _usage(address, name)),
        latest=guarded("Latest calls", lambda: latest_calls(address, selection)),
        marks=guarded("Changes", lambda: marks(*address.span, subjects)),
        calls_link=address.to("calls"),
    )


def _upstreams(address: Address, name: str) -> Sequence[str]:
    """The upstreams that its calls of the last month needed."""
    month = Span.of(address.now - MONTH, address.now)
    groups = queries.groups(month, Selection().and_also(tool=name), by=("upstream",), wanted=queries.COUNTS)
    return [str(group.values[0]) for group in groups if group.values[0]]


def _facts(
    address: Address, known: facts.ToolFacts | None, upstreams: Sequence[str], seen: CallFigures
) -> Sequence[Fact]:
    needed = [Fact("Upstream", each, address.to("upstream", each)) for each in upstreams]
    every = queries.totals(Span.of(*address.span), address.selection, wanted=queries.SUMS)
    of_all = Fact("Of all tokens sent", wording.share(share(seen.tokens_sent, every.tokens_sent)))
    if known is None:
        return [Fact("Catalogue", "not in it now: removed, renamed or switched off"), *needed, of_all]
    return [
        *needed,
        Fact("Kind", "reads" if known.is_reading else "writes"),
        Fact("Budget", f"{wording.whole(known.budget)} tokens", known.edit),
        Fact("Hard cap", f"{wording.whole(known.hard_cap)} tokens"),
        Fact("In the tool list", f"{wording.whole(known.tokens)} tokens" if known.is_listed else "no"),
        of_all,
    ]


def _callers(address: Address, selection: Selection, name: str) -> Table:
    return group_table(
        address,
        selection,
        BY,
        title="Who calls it",
        empty=f"Nobody called {name} {address.during}.",
    )


def _usage(address: Address, name: str) -> Table:
    usage = argument_usage(Span.of(*address.span), name)
    rows = [
        [
            Cell(argument, is_code=True),
            Cell(wording.share(count / usage.calls), value=count / usage.calls, bar=count / usage.calls),
        ]
        for argument, count in usage.names
    ]
    return table(
        address,
        key="usage",
        title="How it is called",
        columns=(TableColumn("argument", "Argument", is_number=False), TableColumn("used", "Used in")),
        rows=rows,
        note=f"Of {wording.plural(usage.calls, 'call')} whose argument names are stored.",
        empty="No argument names are stored for calls in this range.",
    )
