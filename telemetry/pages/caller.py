"""One key: its figures, clients, sequences of calls and tools."""

from collections.abc import Sequence
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import facts, queries, wording
from telemetry.call_figures import CallFigures
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.conditions import condition
from telemetry.pages.group_table import group_table
from telemetry.pages.marks import marks
from telemetry.pages.overview import charts_of, figures_of
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.reason_table import reason_table
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.pages.tiles import Fact
from telemetry.queries import Selection, Span
from telemetry.queries.clients import CLIENT_CALLS, NEWEST, Run, clients, sequences
from telemetry.states import State

CHARTS = ("outcomes", "tokens")
BY = ("tool",)
SHOWN_CALLS = 12  # the most calls of a sequence that are shown
CLIENTS = (
    TableColumn("client", "Client", is_number=False),
    TableColumn("protocol", "Protocol", is_number=False),
    TableColumn("transport", "Transport", is_number=False),
    TableColumn("calls", "Calls"),
    TableColumn("failed", "Failed"),
    TableColumn("first", "First seen", is_number=False),
    TableColumn("last", "Last seen", is_number=False),
)


@require_safe
@page(subject="key")
def caller(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    known = facts.keys.get(name)
    used = guarded("Last call", lambda: queries.last_call_at(name))
    last_at = used.content
    if known is None and last_at is None and not used.failure:
        raise Http404
    last_used = None if used.failure else wording.moment(last_at) if last_at else "never"
    selection = address.selection.and_also(key=name)
    if form := export.wanted(request):
        return export.exported(_tools(address, selection, name), form, f"caller-{name}")
    tools = guarded("Tools used", lambda: _tools(address, selection, name))
    calls = guarded("Figures", lambda: figures_of(address, selection))
    seen = calls.content.seen if calls.content else CallFigures()
    state = guarded("State", lambda: condition(address, selection))
    drawn = guarded("Charts", lambda: charts_of(address, selection, seen, (name,)))
    return show(
        request,
        address,
        "telemetry/caller.html",
        title=f"Key {name}",
        state=state.content.state if state.content else State.ERROR,
        sentence=state.content.sentence if state.content else UNREADABLE,
        exports=export.FORMS,
        facts=_facts(known, seen, last_used, address.now),
        calls=calls,
        nothing=calls.content and calls.content.nothing,
        charts=drawn,
        shown=[drawn.content[key] for key in CHARTS] if drawn.content else [],
        reasons=guarded("Refused and failed calls", lambda: reason_table(address, selection)),
        clients=guarded("Clients", lambda: _clients(address, selection, name)),
        runs=guarded("Sequences", lambda: [_shown(address, run) for run in sequences(_span(address), selection)]),
        newest=wording.whole(NEWEST),
        tools=tools,
        unused=guarded("Tools not used", lambda: _unused(address, selection, known)),
        marks=guarded("Changes", lambda: marks(*address.span, (name,))),
        calls_link=address.to("calls"),
    )


def _span(address: Address) -> Span:
    return Span.of(*address.span)


def _facts(known: facts.KeyFacts | None, seen: CallFigures, last_used: str | None, now: datetime) -> Sequence[Fact]:
    refused = seen.origins.get("policy", 0)
    found = [
        *([] if last_used is None else [Fact("Last used", last_used)]),
        Fact("Refused by a limit", wording.whole(refused)),
    ]
    if known is None:
        return [Fact("Key", "no key has this name now"), *found]
    if known.revoked_at:
        state = Fact("Revoked", wording.minute(known.revoked_at), known.edit)
    elif known.expires_at and known.expires_at <= now:
        state = Fact("Expired", wording.minute(known.expires_at), known.edit)
    elif known.expires_at:
        state = Fact("Active, expires", wording.minute(known.expires_at), known.edit)
    else:
        state = Fact("Active, expires", "never", known.edit)
    return [state, Fact("Created", wording.minute(known.created_at)), *found]


def _clients(address: Address, selection: Selection, name: str) -> Table:
    found = clients(_span(address), selection)
    rows = [
        [
            Cell(
                f"{each.name} {each.version}".strip() or "(not named)",
                address.to("calls", client=each.name) if each.name else "",
            ),
            Cell(each.protocol or wording.NOTHING),
            Cell(each.transport),
            Cell(wording.whole(each.calls), value=each.calls),
            Cell(wording.share(each.errors / each.calls), value=each.errors / each.calls),
            Cell(wording.moment(each.first_at), value=each.first_at.isoformat()),
            Cell(wording.moment(each.last_at), value=each.last_at.isoformat()),
        ]
        for each in found.clients
    ]
    empty = f"No client used {name} {address.during}."
    note = f"Of the newest {wording.whole(CLIENT_CALLS)} calls." if found.is_cut else ""
    return table(address, key="clients", title="Clients", columns=CLIENTS, rows=rows, empty=empty, note=note)


def _shown(address: Address, run: Run) -> dict[str, object]:
    """A sequence for the template: a summary in words, and its calls as cells."""
    calls = run.calls
    cells = [
        Cell(call.tool, address.to("call", call.request_id), state=State.DOWN if call.is_failed else None)
        for call in calls[-SHOWN_CALLS:]
    ]
    words = (
        f"{wording.moment(calls[0].at)} to {wording.clock(calls[-1].at, calls[0].at)}, "
        f"{wording.plural(len(calls), 'call')}, {wording.plural(run.tools, 'tool')}, "
        f"{wording.plural(run.tokens, 'token')}, {run.errors or 'none'} failed"
    )
    return {"client": run.client, "words": words, "cells": cells, "left_out": len(calls) - len(cells)}


def _tools(address: Address, selection: Selection, name: str) -> Table:
    return group_table(
        address,
        selection,
        BY,
        title="Tools used",
        empty=f"{name} used no tool {address.during}.",
    )


def _unused(address: Address, selection: Selection, known: facts.KeyFacts | None) -> Table:
    used = {
        group.values[0]
        for group in queries.groups(_span(address), selection, by=BY, at_most=100_000, wanted=queries.TABLES)
    }
    hidden = known.hidden_tools if known else ()
    left = [each for each in facts.tools.all().values() if each.name not in used and each.name not in hidden]
    listed = sorted((each for each in left if each.is_listed), key=lambda each: -each.tokens)
    cost = sum(each.tokens for each in listed)
    return table(
        address,
        key="unused",
        title="Not used, though shown",
        columns=(TableColumn("tool", "Tool", is_number=False), TableColumn("tokens", "Tokens in the list")),
        rows=[
            [
                Cell(each.name, address.to("tool", each.name), is_code=True),
                Cell(wording.whole(each.tokens), value=each.tokens),
            ]
            for each in listed
        ],
        note=f"{wording.plural(len(listed), 'tool')}, {wording.whole(cost)} tokens in every conversation of this key.",
        empty="It used every tool that it is shown.",
    )
