"""The rows of the table: what each is called, what it is compared with, its goal, and how the gate watches it."""

from dataclasses import dataclass

FASTMCP, SDK, BARE = "FastMCP", "raw SDK", "bare route"
FEW_TOOLS, PLAIN_VIEW, ONE_WORKER, FASTMCP_P50 = "2 tools", "plain view", "one worker", "FastMCP's p50"
FASTMCP_LIST_MS = 3.45  # the cost of FastMCP's list on the machine where the goals in milliseconds were set


@dataclass(frozen=True, slots=True)
class TableRow:
    """`must` and `reach`: the limits of the figure's ratio to the yardstick `against`, or of the figure itself.
    `times`: the ratio is shown as how many times as much the yardstick takes.

    `watched`: the gate compares the ratio to this yardstick with the committed ratio; "": it compares the figure
    itself; None: it leaves the row out. `tolerance`: how much larger the ratio may be, because repeated runs on a busy
    machine with two cores differ."""

    title: str
    unit: str
    against: str = ""
    must: float | None = None
    reach: float | None = None
    times: bool = False
    watched: str | None = None
    tolerance: float = 0.35


def _call(title: str, must: float, reach: float) -> TableRow:
    return TableRow(title, "ms CPU", FASTMCP, 1 / must, 1 / reach, times=True, watched=SDK)


def _in_milliseconds(title: str, must: float, reach: float) -> TableRow:
    """A goal in milliseconds, as a ratio to FastMCP's list on the machine where the goal was set."""
    return _call(title, FASTMCP_LIST_MS / must, FASTMCP_LIST_MS / reach)


def _many_tools(title: str) -> TableRow:
    return TableRow(title, "ms CPU", FEW_TOOLS, 1.05, watched=FEW_TOOLS)


ROWS = {
    "list-websocket": _call("imported list of 48 KB, never seen, WebSocket", 3, 3.7),
    "list-http-2025": _call("the same over HTTP 2025", 2.4, 3),
    "list-http-2026": _call("the same over HTTP 2026", 2.4, 3),
    "record-websocket": _call("imported record of 10 KB, never seen, WebSocket", 3, 3.5),
    "record-http-2025": _call("the same over HTTP 2025", 2.3, 3.5),
    "hostaway-first": _in_milliseconds("Hostaway list, first page, another filter each, WebSocket", 1.2, 0.9),
    "hostaway-pages": _in_milliseconds("Hostaway list, page by page, WebSocket", 1.2, 0.9),
    "equal-websocket": _in_milliseconds("equal call, WebSocket", 0.2, 0.12),
    "equal-http-2025": _in_milliseconds("equal call, HTTP 2025", 0.35, 0.12),
    "p99": TableRow("p99 at 64 clients, never seen, HTTP 2025", "ms", FASTMCP_P50, 1),
    "memory-idle": TableRow("memory, embedded, idle", "MB", must=130, watched="", tolerance=0.1),
    "memory-used": TableRow("memory, embedded, after the calls", "MB", must=150),
    "memory-web": TableRow("memory, web only, idle", "MB", must=120, watched="", tolerance=0.1),
    "start": TableRow("start to a good /readyz", "s", must=1.2, reach=1.0),
    "start-cpu": TableRow("processor time of a start", "s CPU", watched=SDK),
    "tools-http-2025": _many_tools("a record with 600 tools imported, HTTP 2025"),
    "tools-http-2026": _many_tools("the same over HTTP 2026"),
    "rest-where": TableRow("REST list by `where`, p95", "ms", PLAIN_VIEW, 1.10),
    "rest-where-cpu": TableRow("REST list by `where`, processor time", "ms CPU", PLAIN_VIEW, watched=PLAIN_VIEW),
    "workers": TableRow("two workers, 64 clients, record", "ms CPU", ONE_WORKER, 1.15),
    "workers-share": TableRow("share of the calls of the busier of two workers", "", must=0.6),
    "workers-wall": TableRow("wall time of a call at two workers, 64 clients", "ms", ONE_WORKER),
}
