"""The table of failed calls by reason."""

from telemetry import wording
from telemetry.pages.address import Address
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.pages.words import ORIGINS
from telemetry.queries import Selection, Span
from telemetry.queries.reasons import NEWEST, reasons

COLUMNS = (
    TableColumn("reason", "Reason", is_number=False),
    TableColumn("origin", "Origin", is_number=False),
    TableColumn("calls", "Calls"),
    TableColumn("share", "Share"),
    TableColumn("first", "First", is_number=False),
    TableColumn("last", "Last", is_number=False),
    TableColumn("example", "Last one", is_number=False),
)


def reason_table(address: Address, selection: Selection) -> Table:
    found = reasons(Span.of(*address.span), selection)
    failed = sum(each.calls for each in found.reasons)
    rows = [
        [
            Cell(each.reason, address.to("calls", reason=each.reason), is_code=True),
            Cell(ORIGINS.get(each.origin, "unknown"), value=each.origin),
            Cell(wording.whole(each.calls), value=each.calls),
            Cell(wording.share(each.calls / failed), value=each.calls / failed),
            Cell(wording.clock(each.first_at, address.now), value=each.first_at.isoformat()),
            Cell(wording.clock(each.last_at, address.now), value=each.last_at.isoformat()),
            Cell(each.message or each.request_id, address.to("call", each.request_id)),
        ]
        for each in found.reasons
    ]
    return table(
        address,
        key="reasons",
        title="Errors by reason",
        columns=COLUMNS,
        rows=rows,
        note=f"Of the newest {wording.whole(NEWEST)} failed calls." if found.is_cut else "",
        empty=f"No call failed {address.during}.",
    )
