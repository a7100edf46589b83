"""The amounts of a booking: base price, cleaning fee and tax, with or without finance lines."""

from dataclasses import dataclass
from random import Random
from typing import Any

from gateway.connectors.hostaway.sample.homes import Home

Row = dict[str, Any]

TAX_RATE = 0.13
HOST_FEE_RATE = 0.15


@dataclass(frozen=True, slots=True)
class FeeKind:
    """A kind of finance line. `share`: its amount as a share of the base price, negative for discounts and for what the
    host pays. `in_total`: whether the total includes it."""

    type: str
    name: str
    title: str
    share: float
    in_total: bool = True


@dataclass(frozen=True, slots=True)
class Money:
    """The amounts of one booking in the currency of its home. If there are finance lines, those that count towards
    `total` add up to it."""

    base: int
    cleaning: float
    tax: float
    total: float
    host_fee: float
    lines: tuple[Row, ...] = ()

    @property
    def payout(self) -> float:
        return round(self.total - self.host_fee, 2)


FREE = Money(base=0, cleaning=0.0, tax=0.0, total=0.0, host_fee=0.0)

BASE_RATE = FeeKind("price", "baseRate", "Accommodation", 1.0)
CLEANING = FeeKind("fee", "cleaningFee", "Cleaning at the end of the stay", 0.0)
EXTRA_KINDS = (
    FeeKind("tax", "vat", "Value added tax", 0.07),
    FeeKind("tax", "cityTax", "Tourist tax of the city", 0.02),
    FeeKind("discount", "weeklyDiscount", "Weekly stay", -0.1),
    FeeKind("fee", "bedLinenFee", "Bed linen, first set", 0.02),
    FeeKind("fee", "petFee", "One dog", 0.03),
    FeeKind("fee", "hostChannelFee", "Commission of the channel", -0.15, in_total=False),
    FeeKind("price", "priceForExtraPerson", "Extra guest", 0.12),
    FeeKind("tax", "lodgingTax", "Lodging tax", 0.015),
    FeeKind("fee", "lateCheckoutFee", "Check-out at 15:00", 0.04),
    FeeKind("fee", "damageDeposit", "Deposit, released after the stay", 0.25, in_total=False),
    FeeKind("fee", "midstayCleaningFee", "Cleaning in the middle of the stay", 0.05),
    FeeKind("fee", "towelChangeFee", "Second set of towels", 0.01),
    FeeKind("discount", "couponDiscount", "Voucher for returning guests", -0.05),
    FeeKind("fee", "transferFee", "Pick-up at the station", 0.06),
    FeeKind("tax", "transientOccupancyTax", "Occupancy tax", 0.025),
    FeeKind("fee", "parkingFee", "Parking space in the yard", 0.03),
    FeeKind("fee", "extraBedsFee", "Folding bed", 0.025),
    FeeKind("fee", "insuranceFee", "Travel insurance", 0.035),
    FeeKind("fee", "kitchenLinenFee", "Kitchen linen and apron", 0.008),
    FeeKind("discount", "lastMinuteDiscount", "Late booking", -0.03),
    FeeKind("tax", "guestStayTax", "Registration of the stay", 0.005),
    FeeKind("fee", "checkinFee", "Welcome in person after 22:00", 0.02),
    FeeKind("fee", "paymentServiceProcessingFees", "Card processing", -0.03, in_total=False),
)  # fmt: skip


def simple_money(rng: Random, home: Home, nights: int) -> Money:
    """The amounts of a stay without finance lines: the total is the base price, the cleaning fee and the tax."""
    base = _base(rng, home, nights)
    tax = home.rounded(base * TAX_RATE)
    return _money(home, base, tax, home.rounded(base + home.cleaning + tax))


def detailed_money(rng: Random, home: Home, nights: int, first_id: int, extras: int) -> Money:
    """The amounts of a stay with finance lines: one for the price, one for cleaning, and `extras` others. `first_id`:
    the id of the first line."""
    base = _base(rng, home, nights)
    amounts = [(BASE_RATE, float(base)), (CLEANING, home.cleaning)]
    for kind in EXTRA_KINDS[:extras]:
        amounts.append((kind, home.rounded(base * kind.share * rng.uniform(0.8, 1.2))))
    lines = tuple(_line(first_id + number, kind, amount) for number, (kind, amount) in enumerate(amounts))
    tax = home.rounded(sum(amount for kind, amount in amounts if kind.type == "tax"))
    total = home.rounded(sum(amount for kind, amount in amounts if kind.in_total))
    return _money(home, base, tax, total, lines)


def _base(rng: Random, home: Home, nights: int) -> int:
    return int(home.price * nights * rng.uniform(0.85, 1.3))


def _money(home: Home, base: int, tax: float, total: float, lines: tuple[Row, ...] = ()) -> Money:
    return Money(base, home.cleaning, tax, total, home.rounded(total * HOST_FEE_RATE), lines)


def _line(line_id: int, kind: FeeKind, amount: float) -> Row:
    return {
        "id": line_id,
        "units": 1,
        "listingFeeSettingId": None,
        "type": kind.type,
        "name": kind.name,
        "title": kind.title,
        "alias": None,
        "value": amount,
        "isIncludedInTotalPrice": int(kind.in_total),
        "isOverriddenByUser": 0,
        "isMandatory": None,
        "isQuantitySelectable": 0,
        "isDeleted": 0,
        "total": amount,
    }
