"""The tasks of the invented clients on the sample account. Each scenario is a few calls that belong together."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.simulation.clients import Document, SimulatedClient, SimulatedConnection, over_http, over_websocket, rest

Scenario = Callable[[SimulatedConnection], Awaitable[None]]

STATUSES = ("confirmed", "cancelled", "inquiry", "ownerStay", "expired")
REVENUE = {
    "groupBy": ["propertyId"],
    "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}, {"op": "count"}],
    "orderBy": "-revenue",
}


async def arrivals(session: SimulatedConnection) -> None:
    """Looks for bookings, and opens one of them."""
    first = session.chance.choice(("2026-01-01", "2026-07-01", "2027-01-01"))
    found = await session.ask("list_bookings", {"status": session.chance.choice(STATUSES), "checkInFrom": first})
    if booking := _one_of(session, found):
        await session.ask("get_booking", {"id": booking["id"]})
        await session.ask("get_booking", {"id": booking["id"], "fields": "financial"})


async def property_details(session: SimulatedConnection) -> None:
    """Reads all of a listing, which is far over the budget."""
    if listing := _one_of(session, await session.ask("list_listings")):
        answer = await session.ask("get_listing", {"id": listing["id"]})
        answer = await session.ask("get_listing", {"id": listing["id"], "fields": "all"})
        if "nextCursor" in answer:
            await session.ask("get_listing", {"id": listing["id"], "fields": "all", "cursor": answer["nextCursor"]})


async def all_bookings(session: SimulatedConnection) -> None:
    """Pages through a long list."""
    await session.walk("list_bookings", {"limit": 25}, pages=session.chance.randint(2, 8))


async def bookings_as_table(session: SimulatedConnection) -> None:
    await session.walk("list_bookings", {"format": "table"}, pages=2)


async def revenue(session: SimulatedConnection) -> None:
    """Asks the gateway to add up, instead of reading rows. The second, equal call is served from the cache."""
    await session.ask("list_bookings", {"aggregate": REVENUE})
    await session.ask("list_bookings", {"aggregate": REVENUE})


async def search_in_result(session: SimulatedConnection) -> None:
    listed = await session.ask("list_transactions", {"type": "charge"})
    if handle := listed.get("meta", {}).get("resultHandle"):
        await session.ask("result_search", {"handle": handle, "text": "fee"})


async def ledger(session: SimulatedConnection) -> None:
    least = session.chance.choice((50, 200, 500))
    await session.walk("list_transactions", {"minAmount": least, "limit": 40}, pages=3)


async def manual(session: SimulatedConnection) -> None:
    """Reads some chunks of a document."""
    if document := _one_of(session, await session.ask("list_documents")):
        await session.walk("read_document", {"id": document["id"]}, pages=session.chance.randint(1, 4))


MISTAKES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("list_bookings", {"status": "confrimed"}),
    ("list_bookings", {"checkInFrom": "next week"}),
    ("list_bookings", {"limit": 100_000}),
    ("list_listings", {"town": "Porto"}),
    ("get_booking", {"id": 1}),
    ("get_booking", {}),
    ("read_document", {"id": "no-such-document"}),
    ("list_transactions", {"cursor": "gAAAAAexpired"}),
    ("list_reservations", {}),
)


async def mistake(session: SimulatedConnection) -> None:
    await session.ask(*session.chance.choice(MISTAKES))


@dataclass(frozen=True)
class ClientRole:
    """A client and what it does; `scenarios` are drawn by weight."""

    client: SimulatedClient
    scenarios: Mapping[Scenario, int]

    async def act(self, session: SimulatedConnection) -> None:
        """Goes on until the allowance is used up, which raises Finished."""
        while True:
            (scenario,) = session.chance.choices(list(self.scenarios), list(self.scenarios.values()))
            await scenario(session)


ROLES = (
    ClientRole(SimulatedClient("front-desk", "2.4.1", over_websocket), {arrivals: 5, property_details: 2, mistake: 1}),
    ClientRole(
        SimulatedClient("night-audit", "1.0.3", over_http, mode="legacy"),
        {revenue: 4, ledger: 3, search_in_result: 3, mistake: 1},
    ),
    ClientRole(
        SimulatedClient("trip-planner", "0.9.0", over_websocket, mode="legacy"),
        {property_details: 3, arrivals: 2, manual: 2, mistake: 1},
    ),
    ClientRole(SimulatedClient("house-manual", "3.2.0", over_http), {manual: 5, property_details: 1, mistake: 1}),
    ClientRole(
        SimulatedClient("ledger-sync", "5.0.0", rest), {all_bookings: 3, ledger: 3, bookings_as_table: 2, mistake: 1}
    ),
)


def _one_of(session: SimulatedConnection, listed: Document) -> Mapping[str, Any] | None:
    rows = listed.get("items") or []
    return session.chance.choice(rows) if rows else None
