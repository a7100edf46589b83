"""The latest calls of a selection, as a table."""

from telemetry import wording
from telemetry.measurement import Measurement
from telemetry.pages.address import Address
from telemetry.pages.call_rows import CallRow
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Selection, Span, select

SHOWN = 20
COLUMNS = (
    TableColumn("time", "Time", is_number=False),
    TableColumn("result", "Result", is_number=False),
    TableColumn("took", "Took"),
    TableColumn("tokens", "Tokens"),
    TableColumn("key", "Key, client", is_number=False),
)


def latest_calls(address: Address, selection: Selection) -> Table:
    newest = select(Span.of(*address.span), selection).order_by("-created_at", "-pk")[:SHOWN]
    return table(
        address,
        key="latest",
        title=f"Latest {SHOWN} calls",
        columns=COLUMNS,
        rows=[_row(address, record.measurement) for record in newest],
        empty=f"No calls {address.during}.",
    )


def _row(address: Address, call: Measurement) -> list[Cell]:
    row = CallRow.of(call, address)
    rows = f", {wording.plural(call.item_count, 'row')}" if call.is_list else ""
    return [
        Cell(row.time, row.link),
        Cell(row.message or f"{row.result}{rows}", state=row.state),
        Cell(row.took),
        Cell(row.tokens),
        Cell(f"{row.key} · {row.client}" if row.client else row.key),
    ]
