"""The list of all tools, including those that are switched off: what each costs in every conversation, and how it is
used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from context_protection.core.scopes import BudgetScope
from gateway.access.models import ConnectorSwitch
from gateway.access.tool_switch import ToolSwitch
from gateway.staff.budgets.budget_page import SEE as SEE_BUDGETS
from gateway.staff.budgets.scopes import link_to
from gateway.staff.history.change_list import SEE as SEE_HISTORY
from gateway.staff.keys.first_call import SEE as SEE_KEYS
from gateway.staff.tools.draft import SwitchDraft, SwitchPlan, may_change, may_change_any, planned
from gateway.staff.tools.effect import ListEffect, forecast, list_effect
from gateway.staff.tools.key_view import KeyView, key_names, key_view
from gateway.staff.tools.tool_entries import ToolEntry, tool_entries
from telemetry import queries, wording
from telemetry.access import SEE_CALLS
from telemetry.call_figures import CallFigures
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.replay_offers import REPLAY
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, Tick, table
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
NO_DRAFT = SwitchDraft()


@dataclass(frozen=True, slots=True)
class ConnectorTick:
    """The checkbox of a connector, whose tools are switched together."""

    name: str
    tick: Tick
    words: str  # 9 tools, 3,194 tokens


@page(needs=SEE, default_range="30d")
@require_http_methods(["GET", "HEAD", "POST"])
def tools(request: HttpRequest, address: Address) -> HttpResponseBase:
    """Parameter `q`: words that must all be in a row's name, connector, kind or state. `key`: whose view of the list is
    shown. A POST shows the effect of the draft in its form, and saves nothing."""
    return show_list(request, address, SwitchDraft.of(request.POST) if request.method == "POST" else NO_DRAFT)


def show_list(
    request: HttpRequest, address: Address, draft: SwitchDraft, *, problems: Sequence[str] = (), status: int = 200
) -> HttpResponseBase:
    """The list with a draft of switches. `problems`: why the draft was not saved."""
    every = list(tool_entries())
    figures = guarded("Figures", lambda: month_figures(address))
    found = [each for each in every if all(word in each.words.split() or word in each.name for word in _words(address))]
    view = _view(request, address, every)
    shown = _table(request, address, found, figures.content, draft, view.hidden if view else frozenset())
    if form := export.wanted(request):
        return export.exported(shown, form, "tool-list")
    is_draft = may_change_any(request.user)
    plan = planned(draft, every)
    connectors = _connector_ticks(request, every, draft)
    ticks = {*(each.tick.value for each in connectors), *_ticks(shown)}
    return show(
        request,
        address,
        "tools/tools.html",
        title="Tool list",
        sentence=_sentence(every, figures.content),
        has_comparison=False,
        has_recorder_notes=False,
        exports=export.FORMS,
        status=status,
        table=shown,
        failure=figures.failure,
        find=address.get("q"),
        this=address.path,
        view=view,
        keys=key_names() if request.user.has_perm(SEE_KEYS) else (),
        is_draft=is_draft,
        problems=problems or plan.overtaken,
        plan=plan,
        effect=_effect(plan),
        connectors=connectors,
        unseen=[each for each in plan.changes if each.switch.switch_id not in ticks],
        list_link=address.link(),
        save_link=replace(address, path=reverse("tool_list:save")).link(),
        undo=_undo_link(request),
    )


def _view(request: HttpRequest, address: Address, every: Sequence[ToolEntry]) -> KeyView | None:
    """The view of the key that the address names, for those who may see keys."""
    chosen = next((each.value for each in address.filters if each.dimension == "key"), "")
    return key_view(chosen, every) if chosen and request.user.has_perm(SEE_KEYS) else None


def _words(address: Address) -> list[str]:
    return address.get("q").lower().split()


def _effect(plan: SwitchPlan) -> ListEffect | None:
    if not plan.changes:
        return None
    return guarded("The list with your changes", lambda: list_effect(forecast(plan))).content


def _undo_link(request: HttpRequest) -> str:
    """After a save, the link to the page that sets the configuration back to the moment before it. That page first
    shows what it would change. "" for those who may not open it."""
    try:
        moment = datetime.fromisoformat(request.GET.get("saved", ""))
    except ValueError:
        return ""
    if not request.user.has_perm(SEE_HISTORY):
        return ""
    return f"{reverse('history:rollback')}?{urlencode({'moment': moment.isoformat()})}"


def _connector_ticks(request: HttpRequest, every: Sequence[ToolEntry], draft: SwitchDraft) -> list[ConnectorTick]:
    """The connectors that this person may switch."""
    tools: dict[str, list[ToolEntry]] = {}
    switches: dict[str, ToolSwitch] = {}
    for each in every:
        if isinstance(each.switch, ConnectorSwitch) and may_change(request.user, each.switch):
            tools.setdefault(each.connector, []).append(each)
            switches[each.connector] = each.switch
    return [
        ConnectorTick(
            name,
            _tick(switches[name], f"connector {name}", draft),
            f"{wording.plural(len(own), 'tool')}, {sum(each.tokens for each in own):,} tokens",
        )
        for name, own in tools.items()
    ]


def _tick(switch: ToolSwitch, name: str, draft: SwitchDraft) -> Tick:
    """After a refused save, the draft starts from the state that the switch has now."""
    is_on = switch.is_switched_on
    return Tick(switch.switch_id, f"{name}: on", is_ticked=draft.wants(switch), was_ticked=is_on)


def _ticks(shown: Table) -> set[str]:
    return {cell.tick.value for row in shown.shown for _, cell in row if cell.tick is not None}


# -- Figures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MonthFigures:
    """`by_tool`: tool → figures of its calls in the last `days` days, without tools that had none."""

    by_tool: Mapping[str, CallFigures]
    days: float

    def calls_of(self, tool: str) -> int:
        return self.by_tool.get(tool, CallFigures()).calls


def month_figures(address: Address) -> MonthFigures:
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


def _table(
    request: HttpRequest,
    address: Address,
    found: list[ToolEntry],
    month: MonthFigures | None,
    draft: SwitchDraft,
    hidden: frozenset[str],
) -> Table:
    return table(
        address,
        key="tools",
        title="All tools",
        columns=COLUMNS,
        rows=[_cells(request, address, each, month, draft, is_hidden=each.name in hidden) for each in found],
        sort="-tokens",
        note="Definitions are sent with every conversation. Use is the average of 30 days, or since the first call.",
        empty="No tool matches. Try a part of a name, a connector, reads, writes, on or off.",
        is_exported=True,
    )


def _cells(
    request: HttpRequest,
    address: Address,
    row: ToolEntry,
    month: MonthFigures | None,
    draft: SwitchDraft,
    *,
    is_hidden: bool,
) -> list[Cell]:
    """Links only to pages that this person may open, and that exist for the tool."""
    may = request.user.has_perm
    used = month.by_tool.get(row.name, CallFigures()) if month else None
    calls = used.calls if used else None
    telemetry = address.to("tool", row.name) if may(SEE_CALLS) and (row.is_on or calls) else ""
    playground = f"{reverse('playground:playground')}?{urlencode({'tool': row.name})}"
    return [
        Cell(row.name, "" if is_hidden else telemetry, is_code=True, tone="quiet-text" if is_hidden else ""),
        _state(request, row, draft, is_hidden=is_hidden),
        Cell(row.connector or "Sluice"),
        Cell(row.kind),
        Cell(wording.whole(row.tokens), value=row.tokens),
        _a_day(calls, month),
        _a_day(used.tokens_sent if used else None, month),
        Cell("Budget", link_to(BudgetScope(row.name))) if row.is_on and may(SEE_BUDGETS) else NONE,
        Cell("Try", playground) if row.is_on and may(REPLAY) else NONE,
    ]


def _state(request: HttpRequest, row: ToolEntry, draft: SwitchDraft, *, is_hidden: bool) -> Cell:
    """The state, with a checkbox if the tool has a switch of its own that this person may change."""
    own, switch = row.own_switch, row.switch
    link = switch.admin_page if switch is not None and request.user.has_perm(switch.permission("view")) else ""
    tick = _tick(own, row.name, draft) if own is not None and may_change(request.user, own) else None
    if is_hidden:
        return Cell(f"{row.state}, hidden", link, state=State.NO_DATA, tick=tick)
    return Cell(row.state, link, state=STATES[row.is_on], tick=tick)


def _a_day(total: float | None, month: MonthFigures | None) -> Cell:
    """ "12" or "0.4": a tool with a call a week must not look unused."""
    if total is None or month is None:
        return NONE
    value = total / month.days
    return Cell(wording.whole(value) if value >= 10 or not value else f"{value:.1f}", value=value)
