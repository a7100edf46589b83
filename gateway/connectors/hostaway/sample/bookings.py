"""The invented bookings of the sample account: guest, listing, dates and price.

A booking is made from its number alone: number 41 is the same among 500 bookings as among a million.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from random import Random

from gateway.connectors.hostaway.sample.homes import HOMES, Home
from gateway.connectors.hostaway.sample.money import FREE, Money, detailed_money, simple_money
from gateway.connectors.hostaway.sample.names import Guest, make_guest
from gateway.connectors.hostaway.sample.timeline import LAST_SYNC, inserted_on

FIRST_RESERVATION_ID = 43_000_000


class Detail(Enum):
    """How much detail upstream has about a booking."""

    LEAN = "typed in by hand: only the essential keys"
    USUAL = "all keys, most of them empty"
    RICH = "with some finance lines and long notes"
    LONG = "with every finance line and a long note"
    LONGEST = "with every finance line, twelve custom fields and a note of pages"


@dataclass(frozen=True, slots=True)
class BookingChannel:
    id: int
    name: str
    statuses: tuple[str, ...]
    status_shares: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SampleBooking:
    number: int
    detail: Detail
    home: Home
    channel: BookingChannel
    status: str
    guest: Guest
    inserted: datetime
    arrival: date
    nights: int
    adults: int
    children: int
    money: Money

    @property
    def id(self) -> int:
        return FIRST_RESERVATION_ID + self.number

    @property
    def departure(self) -> date:
        return self.arrival + timedelta(days=self.nights)


_WITH_INQUIRIES = {
    "new": 340, "modified": 255, "inquiry": 265, "cancelled": 84, "declined": 28, "inquiryNotPossible": 14,
    "inquiryPreapproved": 9, "expired": 5,
}  # fmt: skip
_FIRM = {"new": 60, "modified": 24, "cancelled": 16}
UNDECIDED = frozenset({"inquiry", "inquiryPreapproved"})
_BY_HAND = {"new": 70, "modified": 12, "cancelled": 6, "ownerStay": 12}


def _channel(channel_id: int, name: str, statuses: dict[str, int]) -> BookingChannel:
    return BookingChannel(channel_id, name, tuple(statuses), tuple(statuses.values()))


AIRBNB = _channel(2018, "airbnbOfficial", _WITH_INQUIRIES)
DIRECT = _channel(2000, "direct", _BY_HAND)
CHANNELS = (
    AIRBNB,
    _channel(2002, "homeaway", _WITH_INQUIRIES),
    _channel(2005, "bookingcom", _FIRM),
    DIRECT,
    _channel(2013, "bookingengine", _FIRM),
)
_CHANNEL_SHARES = (84, 9, 4, 1, 2)

_EXTRA_FINANCE_LINES = {Detail.RICH: 11, Detail.LONG: 23, Detail.LONGEST: 23}
_SPECIAL_DETAIL = {0: Detail.LONG, 1: Detail.LONG, 2: Detail.LONG, 3: Detail.LONGEST} | dict.fromkeys(
    (40, 111, 250), Detail.RICH
)
_NIGHTS = (1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 14, 21, 28)
_NIGHT_SHARES = (120, 103, 67, 50, 38, 30, 36, 12, 14, 8, 12, 4, 6)


def detail_of(number: int) -> Detail:
    if number % 25 == 13:
        return Detail.LEAN
    return _SPECIAL_DETAIL.get(number, Detail.USUAL)


def booking(number: int) -> tuple[SampleBooking, Random]:
    """The booking `number` (0 is the newest), and the random generator from which to draw its further details."""
    rng = Random(FIRST_RESERVATION_ID + number)
    detail = detail_of(number)
    home = rng.choice(HOMES)
    channel = _channel_for(rng, detail)
    status = _status_for(rng, detail, channel)
    nights = _nights(rng, detail)
    adults, children = _party(rng, home)
    inserted = inserted_on(number)
    return SampleBooking(
        number=number,
        detail=detail,
        home=home,
        channel=channel,
        status=status,
        guest=make_guest(rng),
        inserted=inserted,
        arrival=_arrival(rng, inserted, detail),
        nights=nights,
        adults=adults,
        children=children,
        money=_money_for(rng, number, detail, home, status, nights),
    ), rng


def _channel_for(rng: Random, detail: Detail) -> BookingChannel:
    if detail is Detail.LEAN:
        return DIRECT
    if detail is Detail.USUAL:
        return rng.choices(CHANNELS, _CHANNEL_SHARES)[0]
    return AIRBNB


def _status_for(rng: Random, detail: Detail, channel: BookingChannel) -> str:
    if detail in (Detail.LEAN, Detail.USUAL):
        return rng.choices(channel.statuses, channel.status_shares)[0]
    return rng.choice(("new", "modified"))


def _nights(rng: Random, detail: Detail) -> int:
    if detail in (Detail.LEAN, Detail.USUAL):
        return rng.choices(_NIGHTS, _NIGHT_SHARES)[0]
    return rng.randint(7, 14)


def _party(rng: Random, home: Home) -> tuple[int, int]:
    adults = rng.randint(1, min(home.capacity, 6))
    room_for_children = min(home.capacity - adults, 3)
    return adults, rng.randint(0, room_for_children) if rng.random() < 0.25 else 0


def _arrival(rng: Random, inserted: datetime, detail: Detail) -> date:
    """Days to months after the booking was made. Some bookings are entered by hand after the guest has arrived."""
    if detail is Detail.LEAN and rng.random() < 0.15:
        return inserted.date() - timedelta(days=rng.randint(1, 3))
    return inserted.date() + timedelta(days=1 + min(int(rng.expovariate(1 / 45)), 330))


def _money_for(rng: Random, number: int, detail: Detail, home: Home, status: str, nights: int) -> Money:
    if status == "ownerStay":
        return FREE
    if detail in _EXTRA_FINANCE_LINES:
        first_id = (FIRST_RESERVATION_ID + number) * 100
        return detailed_money(rng, home, nights, first_id, _EXTRA_FINANCE_LINES[detail])
    return simple_money(rng, home, nights)


def last_change(rng: Random, inserted: datetime) -> datetime:
    """A random time up to thirty days after `inserted`, but not after the last sync of the account."""
    latest = min(LAST_SYNC, inserted + timedelta(days=30))
    return inserted + timedelta(hours=rng.randint(1, (latest - inserted) // timedelta(hours=1)))
