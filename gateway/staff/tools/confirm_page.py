"""The page that shows what a draft of switches changes and for whom, asks for a reason, and saves the draft."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from context_protection.reasons import LONGEST_REASON, REASON_NEEDED, reason_in
from gateway.access.models import ConnectorSwitch
from gateway.staff.budgets.storage import reach
from gateway.staff.keys.first_call import SEE as SEE_KEYS
from gateway.staff.tools.draft import SwitchChange, SwitchDraft, SwitchPlan, may_change_any, planned
from gateway.staff.tools.effect import KeyEffect, ListEffect, forecast, key_effects, list_effect, list_words
from gateway.staff.tools.switch_save import SwitchesOvertaken, save
from gateway.staff.tools.tool_entries import ToolEntry, tool_entries
from gateway.staff.tools.tool_list_page import DAYS, SEE, STATES, MonthFigures, month_figures, show_list
from telemetry import access, wording
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.states import State

SAVE = "save"
NOTHING_TO_SAVE = "Nothing to save: you have not ticked or unticked a tool."
SHOWN_NAMES = 5  # the most tools named in one cell
KEYS_NOTE = "Keys that see no difference are left out, such as those with a tool set that has none of these tools."
TOOLS = (
    TableColumn("tool", "Tool", is_number=False),
    TableColumn("goes", "Goes", is_number=False),
    TableColumn("kind", "Reads or writes", is_number=False),
    TableColumn("by", "Switched by", is_number=False),
    TableColumn("tokens", "Tokens of its definition"),
    TableColumn("calls", f"Calls, {DAYS} days"),
)
KEYS = (
    TableColumn("key", "Key", is_number=False),
    TableColumn("gains", "Gets", is_number=False),
    TableColumn("loses", "Loses", is_number=False),
    TableColumn("now", "Its list now", is_number=False),
    TableColumn("then", "Its list then", is_number=False),
)


@dataclass(frozen=True, slots=True)
class SwitchEffect:
    """What a plan changes: the list in general, and the keys that see a difference."""

    listed: ListEffect
    keys: Sequence[KeyEffect]

    @property
    def flips(self) -> bool:
        return self.listed.flips or any(each.flips for each in self.keys)


@page(needs=SEE, default_range="30d")
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, address: Address) -> HttpResponseBase:
    """A POST with the draft shows the question; one with `do=save` saves the draft."""
    if not may_change_any(request.user) and (refused := access.refusal(request, ConnectorSwitch.permission("change"))):
        return refused
    if request.method != "POST":
        return HttpResponseRedirect(reverse("tool_list:tools"))
    draft = SwitchDraft.of(request.POST)
    plan = planned(draft, tool_entries())
    for change in plan.changes:
        if refused := access.refusal(request, change.permission):
            return refused
    if plan.overtaken or not plan.changes:
        return _back(request, address, draft, plan.overtaken)
    return _asked_or_saved(request, address, draft, plan)


def _back(request: HttpRequest, address: Address, draft: SwitchDraft, problems: Sequence[str]) -> HttpResponseBase:
    """The list again, with the draft as it is."""
    if not problems:
        return show_list(request, _on_list(address), draft, problems=[NOTHING_TO_SAVE])
    return show_list(request, _on_list(address), draft, problems=problems, status=409)


def _on_list(address: Address) -> Address:
    """The address of the list with the filter and the order in which the draft was made."""
    return replace(address, path=reverse("tool_list:tools"))


def _asked_or_saved(request: HttpRequest, address: Address, draft: SwitchDraft, plan: SwitchPlan) -> HttpResponseBase:
    found = forecast(plan)
    effect = SwitchEffect(list_effect(found), key_effects(found, plan))
    needs_reason, reason = bool(plan.writes) or effect.flips, reason_in(request.POST)
    is_sent = request.POST.get("do") == SAVE
    if not is_sent or (needs_reason and not reason):
        return _asked(request, address, plan, effect, needs_reason=needs_reason, is_sent=is_sent)
    began = timezone.now()
    try:
        save(plan.changes, reason)
    except SwitchesOvertaken as overtaken:
        return _back(request, address, draft, overtaken.sentences)
    messages.success(request, _saved_sentence(plan))
    saved = (began - timedelta(microseconds=1)).isoformat()
    return HttpResponseRedirect(_on_list(address).link(saved=saved))


def _saved_sentence(plan: SwitchPlan) -> str:
    """Saved: 3 tools switched on, 1 tool switched off. In force in 2 of 2 processes."""
    confirmed, listening = reach()
    sides = ((plan.tools_on, "on"), (plan.tools_off, "off"))
    done = [f"{wording.plural(len(own), 'tool')} switched {side}" for own, side in sides if own]
    words = f"Saved: {', '.join(done)}. In force in {confirmed} of {listening} processes."
    return words if confirmed == listening else f"{words} The others follow within a second."


# -- The question -----------------------------------------------------------------------------------


def _asked(
    request: HttpRequest,
    address: Address,
    plan: SwitchPlan,
    effect: SwitchEffect,
    *,
    needs_reason: bool,
    is_sent: bool,
) -> HttpResponseBase:
    figures = guarded("Figures", lambda: month_figures(address))
    may_see_keys = request.user.has_perm(SEE_KEYS)
    count = wording.plural(len(plan.changes), "change")
    return show(
        request,
        address,
        "tools/confirm.html",
        title=f"Save {count} of the tool list?",
        state=State.DEGRADED if effect.flips else None,
        sentence=_question(plan, effect.listed),
        has_comparison=False,
        has_recorder_notes=False,
        status=422 if is_sent else 200,
        effect=effect,
        flipping=sorted({each.key if may_see_keys else "some keys" for each in effect.keys if each.flips}),
        writes=plan.writes,
        tools=_tools_table(address, plan, figures.content),
        keys=_keys_table(address, effect.keys) if may_see_keys else None,
        failure=figures.failure,
        changes=plan.changes,
        needs_reason=needs_reason,
        problem=REASON_NEEDED if is_sent else "",
        longest=LONGEST_REASON,
        count=count,
        list_link=_on_list(address).link(),
        this=address.link(),
    )


def _question(plan: SwitchPlan, listed: ListEffect) -> str:
    """3 tools on and 1 tool off. The list would take 8,024 of 8,000 tokens. Clients would get 4 search tools …"""
    sides = ((plan.tools_on, "on"), (plan.tools_off, "off"))
    goes = [f"{wording.plural(len(own), 'tool')} {side}" for own, side in sides if own]
    return f"{' and '.join(goes)}. The list would take {listed.tokens} tokens. {listed.sentence}"


def _tools_table(address: Address, plan: SwitchPlan, month: MonthFigures | None) -> Table:
    rows = [_tool_cells(change, tool, month) for change in plan.changes for tool in change.tools]
    return table(address, key="switched", title="What is switched", columns=TOOLS, rows=rows, is_whole=True)


def _tool_cells(change: SwitchChange, tool: ToolEntry, month: MonthFigures | None) -> list[Cell]:
    used = month.calls_of(tool.name) if month else None
    side = "on" if change.is_on else "off"
    return [
        Cell(tool.name, is_code=True),
        Cell(side if tool.has_effect else f"{side}, once its API or server is on", state=STATES[change.is_on]),
        Cell("reads") if tool.reads else Cell("✎ writes", tone="worse" if change.is_on else ""),
        Cell(change.title if isinstance(change.switch, ConnectorSwitch) else "itself"),
        Cell(wording.whole(tool.tokens), value=tool.tokens),
        Cell(wording.whole(used), value=used),
    ]


def _keys_table(address: Address, effects: Sequence[KeyEffect]) -> Table:
    rows = [_key_cells(each) for each in effects]
    empty = "No key sees a difference."
    return table(
        address, key="keys", title="Who sees it", columns=KEYS, rows=rows, empty=empty, note=KEYS_NOTE, is_whole=True
    )


def _key_cells(effect: KeyEffect) -> list[Cell]:
    then = f"{list_words(effect.then)}, {effect.then.tokens:,} tokens"
    return [
        Cell(effect.key, is_code=True),
        Cell(_names(effect.gains)),
        Cell(_names(effect.loses)),
        Cell(f"{list_words(effect.now)}, {effect.now.tokens:,} tokens"),
        Cell(f"{then} ▲ changes form" if effect.flips else then),
    ]


def _names(names: Sequence[str]) -> str:
    """list_bookings, get_booking and 7 more"""
    if not names:
        return wording.NOTHING
    more = len(names) - SHOWN_NAMES
    shown = ", ".join(names[:SHOWN_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown
