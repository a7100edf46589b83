"""Client of Hostaway's API, version 1: returns pages of rows, and maps upstream's failures to errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from context_protection.core import json_values
from context_protection.core.json_values import is_within
from gateway.upstreams import json_depth
from gateway.upstreams.errors import UpstreamGarbled, UpstreamRefused
from gateway.upstreams.request import Request, Response

PAGE_ROWS = 100
DEEPEST_ROW = json_depth.DEEPEST - 2  # minus the envelope and the list that contain the row
LONGEST_MESSAGE = 300  # characters of upstream's message that an error quotes
NO_SUCH_OBJECT = 404
MOST_DIGITS = 19  # of a number below 2**63
Row = Mapping[str, Any]


class Fetching(Protocol):
    """Sends one request, and handles credentials, rate limits, deadlines and retries."""

    async def fetch(self, request: Request, *, cache_seconds: float = 0.0, scope: str = "") -> Response:
        """Raises only UpstreamError, including for every status of 400 and above."""


@dataclass(frozen=True)
class Resource:
    """One type of object. `by_id`: the next page is requested by the last row's id, not by an offset. `changes`:
    upstream can list the objects changed since a date. `one_by_one`: single objects can be requested."""

    name: str
    path: str
    by_id: bool = False
    changes: bool = False
    one_by_one: bool = True
    page_rows: int = PAGE_ROWS
    query: Mapping[str, str] = field(default_factory=dict)


LISTINGS = Resource("listings", "/listings", changes=True)
RESERVATIONS = Resource("reservations", "/reservations", by_id=True, changes=True)
# Upstream rejects requests for the charges of an account without payments. Charges have no change time and no fixed
# order, so each sync reads all of them, sorted by id.
CHARGES = Resource(
    "charges", "/guestPayments/charges", one_by_one=False, page_rows=500, query={"sortBy": "id", "sortOrder": "asc"}
)


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """`rows`: upstream's rows, not validated. `next`: the position after them; None at the end. `total`: the number of
    matching rows, if upstream returns it. `too_deep`: ids of rows that are left out because they are nested deeper than
    Sluice reads."""

    rows: Sequence[Any]
    next: int | None
    total: int | None
    too_deep: Sequence[int] = ()

    @property
    def read(self) -> int:
        return len(self.rows) + len(self.too_deep)


class HostawayClient:
    def __init__(self, base_url: str, upstream: Fetching) -> None:
        self.base_url, self.upstream = base_url, upstream

    async def page(self, resource: Resource, position: int = 0, since: str | None = None) -> ResourcePage:
        """The rows after `position` (0: from the first); with `since` (an ISO date), only those changed on that day or
        later. Raises UpstreamError."""
        query = {**resource.query, "limit": str(resource.page_rows)}
        if position:
            query["afterId" if resource.by_id else "offset"] = str(position)
        if since:
            query["latestActivityStart"] = since
        envelope = await self._envelope(f"{resource.path}?{urlencode(query)}", _json_of_page)
        rows = envelope.get("result")
        if not isinstance(rows, list):
            raise garbled("an answer without a list of rows")
        after, total = _after(resource, position, rows, envelope), _number(envelope.get("count"))
        deep = {place for place, row in enumerate(rows) if not is_within(row, DEEPEST_ROW)}
        named = [identifier for place in sorted(deep) if (identifier := _id(rows[place])) is not None]
        nameless = [None] * (len(deep) - len(named))
        readable = [row for place, row in enumerate(rows) if place not in deep]
        return ResourcePage(readable + nameless, after, total, named)

    async def one(self, resource: Resource, identifier: int) -> Row | None:
        """The object; None if upstream has none with this id. Raises UpstreamError."""
        try:
            envelope = await self._envelope(f"{resource.path}/{identifier}")
        except UpstreamRefused as refused:
            if http_status(refused) == NO_SUCH_OBJECT:
                return None
            raise
        row = envelope.get("result")
        if not isinstance(row, dict) or _number(row.get("id")) != identifier:
            raise garbled("an answer that is not the requested object")
        return row

    async def _envelope(self, path: str, read: Callable[[Response], Any] = Response.json) -> dict[str, Any]:
        response = await self.upstream.fetch(Request("GET", self.base_url + path))
        try:
            envelope = read(response)
        except ValueError:
            raise garbled("an answer that is not JSON") from None
        if not isinstance(envelope, dict) or "status" not in envelope:
            raise garbled("an answer without its envelope")
        if envelope["status"] != "success":
            raise _rejected(response.status, envelope)
        return envelope


def _json_of_page(response: Response) -> Any:
    """Cuts off values that are nested too deeply, so that the id of their row, and all other rows, can be read.
    Requesting a page with only that row would fail in the same way, and without the row's id the next page is
    unknown."""
    try:
        return response.json()
    except UpstreamGarbled:
        return json_values.loads(json_depth.cut(response.body))


def _id(row: Any) -> int | None:
    return _number(row.get("id")) if isinstance(row, dict) else None


def http_status(error: Exception) -> int | None:
    """The status of upstream's response; None if the error has none."""
    status = (getattr(error, "upstream", None) or {}).get("status")
    return status if isinstance(status, int) else None


def garbled(what: str) -> UpstreamGarbled:
    return UpstreamGarbled(
        f"Hostaway returned {what}.",
        reason="upstream_garbled",
        suggestion="Try again later. If the error persists, check that HOSTAWAY_BASE_URL is the address of its API.",
    )


def _rejected(status: int, envelope: Mapping[str, Any]) -> UpstreamRefused:
    """Envelopes with the status `fail` have their message under `message` or `result`."""
    message = envelope.get("message") or envelope.get("result")
    text = "".join(each for each in message if each.isprintable())[:LONGEST_MESSAGE] if isinstance(message, str) else ""
    return UpstreamRefused(
        "Hostaway refused the request.",
        reason="upstream_refused",
        suggestion="Hostaway's message, if it sent one, is in data.upstream.",
        upstream={"status": status, **({"message": text} if text else {})},
    )


def _after(resource: Resource, position: int, rows: Sequence[Any], envelope: Mapping[str, Any]) -> int | None:
    """The position after a page; None after the last page, which has fewer rows than its limit. Upstream may lower the
    requested limit, and then returns the limit that it used."""
    most = min(resource.page_rows, _number(envelope.get("limit")) or resource.page_rows)
    if len(rows) < most:
        return None
    if not resource.by_id:
        return position + len(rows)
    last = _id(rows[-1])
    if last is None or last == position:
        raise garbled("a full page whose last id is missing or repeated")
    return last


def _number(value: Any) -> int | None:
    """A whole number of 0 or more, or None. Upstream returns some numbers as strings."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
