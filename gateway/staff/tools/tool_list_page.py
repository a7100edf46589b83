"""The list of all tools, those that are switched off too: what each costs in every conversation, and how it is used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from context_protection.core.policy import Kind
from context_protection.core.scopes import BudgetScope
from gateway.access.models import ConnectorSwitch
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition_size import definition_tokens
from gateway.connectors import connectors
from gateway.mcp.tools import all_definition_tokens
from gateway.staff.budgets.budget_page import SEE as SEE_BUDGETS
from gateway.staff.budgets.scopes import link_to
from telemetry import queries, wording
from telemetry.access import SEE_CALLS
from telemetry.call_figures import CallFigures
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.replay_offers import REPLAY
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span
from telemetry.states import State

SEE = "access.view_toolset"
STATES = {True: State.OK, False: State.NO_DATA}
NONE = Cell(wording.NOTHING)
DAYS = 30  # over which calls are averaged
COLUMNS = (
    TableColumn("tool", "Tool", is_number=False),
    TableColumn("state", "State", is_number=False),
    TableColumn("connector", "Connector", is_number=False),
    TableColumn("kind", "Reads or writes", is_number=False),
    TableColumn("tokens", "Tokens of its definition"),
    TableColumn("calls", "Calls a day"),
    TableColumn("sent", "Claude's tokens a day"),
    TableColumn("budget", "Budget", is_number=False),
    TableColumn("playground", "Try", is_number=False),
)


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """`tokens`: of the definition. `switch`: the page that switches it; "" if none does."""

    name: str
    connector: str
    reads: bool
    tokens: int
    is_on: bool
    switch: str
    needs: str  # the permission for that page

    @property
    def words(self) -> str:
        """What a filter looks in."""
        return f"{self.name} {self.connector} {self.kind} {self.state}".lower()

    @property
    def kind(self) -> str:
        return "reads" if self.reads else "writes"

    @property
    def state(self) -> str:
        return "on" if self.is_on else "off"


@page(needs=SEE, default_range="30d")
@require_safe
def tools(request: HttpRequest, address: Address) -> HttpResponseBase:
    """Parameter `q`: words that must all be in a row's name, connector, kind or state."""
    every = list(_rows())
    figures = guarded("Figures", lambda: _figures(address))
    found = [each for each in every if all(word in each.words.split() or word in each.name for word in _words(address))]
    shown = _table(request, address, found, figures.content)
    if form := export.wanted(request):
        return export.exported(shown, form, "tool-list")
    return show(
        request,
        address,
        "tools/tools.html",
        title="Tool list",
        sentence=_sentence(every, figures.content),
        has_comparison=False,
        has_recorder_notes=False,
        exports=export.FORMS,
        table=shown,
        failure=figures.failure,
        find=address.get("q"),
        this=request.path,
    )


def _words(address: Address) -> list[str]:
    return address.get("q").lower().split()


def _rows() -> Iterator[ToolEntry]:
    """Tools that search for tools belong to the gateway, and are left out, as in a list that has all tools."""
    switches = {row.tool: (connector.name, row) for connector in connectors() for row in connector.switches()}
    of_connectors = {each.connector: each.pk for each in ConnectorSwitch.objects.all()}
    listed = all_definition_tokens()
    on = [each for each in catalogue if each.name in listed]
    off = [each for each in catalogue.switched_off if each.listed and each.name not in listed]
    for operation in (*on, *off):
        connector = catalogue.connector_of(operation.name)
        page, needs = "", ""
        if operation.name in switches:
            _, own = switches.pop(operation.name)
            page, needs = own.page, own.needs
        elif connector in of_connectors:
            page = reverse("admin:access_connectorswitch_change", args=[of_connectors[connector]])
            needs = "access.view_connectorswitch"
        yield ToolEntry(
            operation.name,
            connector,
            operation.kind is not Kind.ACTION,
            listed.get(operation.name) or definition_tokens(operation),
            operation.name in listed,
            page,
            needs,
        )
    for connector, row in switches.values():
        yield ToolEntry(row.tool, connector, row.reads, row.tokens, False, row.page, row.needs)


# -- Figures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MonthFigures:
    """The calls of each tool in `days` days, of which there are figures."""

    by_tool: Mapping[str, CallFigures]
    days: float


def _figures(address: Address) -> MonthFigures:
    first = queries.first_call_at()
    since = max(address.now - timedelta(days=DAYS), first) if first else address.now - timedelta(days=1)
    groups = queries.groups(Span.of(since, address.now), by=("tool",), at_most=100_000, wanted=queries.SUMS)
    days = max(1.0, (address.now - since) / timedelta(days=1))
    return MonthFigures({str(group.values[0]): group.figures for group in groups}, days)


def _sentence(every: list[ToolEntry], month: MonthFigures | None) -> str:
    """18 of 20 tools are on. Not called in 30 days: 6, which take 2,910 tokens of the list."""
    on = [each for each in every if each.is_on]
    seen = f"{len(on)} of {wording.plural(len(every), 'tool')} are on."
    unused = [each for each in on if month is not None and each.name not in month.by_tool]
    if month is None or not unused:
        return seen
    cost, days = wording.whole(sum(each.tokens for each in unused)), wording.plural(round(month.days), "day")
    return f"{seen} Not called in {days}: {len(unused)}, which take {cost} tokens of the list."


# -- The table --------------------------------------------------------------------------------------


def _table(request: HttpRequest, address: Address, found: list[ToolEntry], month: MonthFigures | None) -> Table:
    return table(
        address,
        key="tools",
        title="All tools",
        columns=COLUMNS,
        rows=[_cells(request, address, each, month) for each in found],
        sort="-tokens",
        note="Definitions are sent with every conversation. Use is the average of 30 days, or since the first call.",
        empty="No tool matches. Try a part of a name, a connector, reads, writes, on or off.",
    )


def _cells(request: HttpRequest, address: Address, row: ToolEntry, month: MonthFigures | None) -> list[Cell]:
    """Links only to pages that this person may open, and that exist for the tool."""
    may = request.user.has_perm
    used = month.by_tool.get(row.name, CallFigures()) if month else None
    calls = used.calls if used else None
    telemetry = address.to("tool", row.name) if may(SEE_CALLS) and (row.is_on or calls) else ""
    playground = f"{reverse('playground:playground')}?{urlencode({'tool': row.name})}"
    return [
        Cell(row.name, telemetry, is_code=True),
        Cell(row.state, row.switch if row.switch and may(row.needs) else "", state=STATES[row.is_on]),
        Cell(row.connector or "Sluice"),
        Cell(row.kind),
        Cell(wording.whole(row.tokens), value=row.tokens),
        _a_day(calls, month),
        _a_day(used.tokens_sent if used else None, month),
        Cell("Budget", link_to(BudgetScope(row.name))) if row.is_on and may(SEE_BUDGETS) else NONE,
        Cell("Try", playground) if row.is_on and may(REPLAY) else NONE,
    ]


def _a_day(total: float | None, month: MonthFigures | None) -> Cell:
    """12 · 0.4: a tool with a call a week is used."""
    if total is None or month is None:
        return NONE
    value = total / month.days
    return Cell(wording.whole(value) if value >= 10 or not value else f"{value:.1f}", value=value)
