"""The three tables of Now: the worst tools, the worst callers, the newest failed calls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from telemetry import queries, wording
from telemetry.call_figures import GroupFigures
from telemetry.measurement import CallOutcome
from telemetry.pages import words
from telemetry.pages.address import Address
from telemetry.pages.call_rows import clock_with_seconds
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span
from telemetry.queries.records import select

SHOWN = 5
GROUPS = 1000  # groups among which the worst are searched


def worst_tools(address: Address) -> Table:
    """The tools with the most failed calls."""
    found = _failed_groups(address, ("tool",))[:SHOWN]
    names = [str(group.values[0]) for group in found]
    first, p95 = _first_failed(address, names), _p95(address, names)
    rows = [
        [
            Cell(name, address.to("tool", name), is_code=True),
            Cell(wording.whole(group.figures.calls), address.to("calls", tool=name)),
            _failed(address, group, tool=name),
            Cell(wording.milliseconds(p95.get(name))),
            Cell(wording.clock(first[name], address.now) if name in first else wording.NOTHING),
        ]
        for group in found
        for name in [str(group.values[0])]
    ]
    return table(
        address,
        key="tools",
        title="Worst tools",
        columns=(
            TableColumn("tool", "Tool", is_number=False),
            TableColumn("calls", "Calls"),
            TableColumn("failed", "Failed"),
            TableColumn("p95", "p95"),
            TableColumn("first", "First failed"),
        ),
        rows=rows,
        empty="No tool failed.",
    )


def worst_callers(address: Address) -> Table:
    found = _failed_groups(address, ("key", "client"))[:SHOWN]
    rows = [_caller(address, group) for group in found]
    return table(
        address,
        key="callers",
        title="Worst callers",
        columns=(
            TableColumn("key", "Key", is_number=False),
            TableColumn("client", "Client", is_number=False),
            TableColumn("calls", "Calls"),
            TableColumn("failed", "Failed"),
        ),
        rows=rows,
        empty="No caller had a failed call.",
    )


def newest_failed(address: Address) -> Table:
    calls = select(Span.of(*address.span), address.selection).filter(outcome=CallOutcome.ERROR)
    rows = [_failed_call(address, record) for record in calls.order_by("-created_at", "-pk")[:SHOWN]]
    return table(
        address,
        key="failed",
        title="Newest failed calls",
        columns=(
            TableColumn("time", "Time", is_number=False),
            TableColumn("tool", "Tool", is_number=False),
            TableColumn("origin", "Origin", is_number=False),
            TableColumn("sentence", "What went wrong", is_number=False),
            TableColumn("key", "Key", is_number=False),
        ),
        rows=rows,
        empty="No call failed.",
    )


def _failed_groups(address: Address, by: tuple[str, ...]) -> list[GroupFigures]:
    groups = queries.groups(Span.of(*address.span), address.selection, by=by, at_most=GROUPS, wanted=queries.COUNTS)
    failed = [group for group in groups if group.figures.errors]
    return sorted(failed, key=lambda group: -group.figures.errors)


def _p95(address: Address, tools: list[str]) -> Mapping[str, float | None]:
    """The p95 of these tools only: reading the histograms of all tools would take most of the page's time."""
    if not tools:
        return {}
    mine = address.selection.only("tool", tools)
    groups = queries.groups(Span.of(*address.span), mine, by=("tool",), wanted=queries.COUNTS_AND_TIMES)
    return {str(group.values[0]): group.figures.latency.p95 for group in groups}


def _first_failed(address: Address, tools: list[str]) -> Mapping[str, datetime]:
    """One query per tool, because the index on tool and time finds the first call of a tool quickly."""
    calls = select(Span.of(*address.span), address.selection).filter(outcome=CallOutcome.ERROR)
    in_order = calls.order_by("created_at").values_list("created_at", flat=True)
    found = {tool: in_order.filter(operation=tool).first() for tool in tools}
    return {tool: at for tool, at in found.items() if at is not None}


def _failed(address: Address, group: GroupFigures, **values: str) -> Cell:
    seen = group.figures
    text = f"{wording.whole(seen.errors)} ({wording.share(seen.error_share)})"
    link = address.to("calls", **values, outcome="error") if all(values.values()) else ""
    return Cell(text, link, seen.errors)


def _caller(address: Address, group: GroupFigures) -> list[Cell]:
    key, client = map(str, group.values)
    named = {name: value for name, value in (("key", key), ("client", client)) if value}
    return [
        Cell(words.value("key", key), address.to("caller", key) if key else "", is_code=bool(key)),
        Cell(words.value("client", client), address.filtered_by(client=client) if client else ""),
        Cell(wording.whole(group.figures.calls), address.to("calls", **named) if key else ""),
        _failed(address, group, **(named if key else {"key": ""})),
    ]


def _failed_call(address: Address, record: Any) -> list[Cell]:
    call = record.measurement
    link = address.to("call", call.request_id)
    return [
        Cell(clock_with_seconds(call.at, address.now), link),
        Cell(call.operation, address.to("tool", call.operation), is_code=True),
        Cell(words.ORIGINS.get(call.origin, "not known")),
        Cell(call.error_message or call.error_reason or "No reason was recorded.", link),
        Cell(words.value("key", call.caller), address.to("caller", call.caller) if call.caller else "", is_code=True),
    ]
