"""Payments for the newest 500 reservations: charges and payouts are positive, refunds and fees negative."""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from gateway.connectors.hostaway.sample.bookings import AIRBNB, SampleBooking, booking, last_change
from gateway.connectors.hostaway.sample.timeline import inserted_on, stamp

Row = dict[str, Any]

ACCOUNT_ID = 10638
FIRST_TRANSACTION_ID = 700_000

_PAID_RESERVATIONS = 500
_PAID_STATUSES = frozenset({"new", "modified", "cancelled"})
_SEED = 9_700_000
_DESCRIPTIONS = {
    "charge": (
        "Stay of {nights} nights in {home}, paid in full",
        "Balance for {home}, due before arrival on {arrival}",
        "Booking of {guest}, {nights} nights",
        "Card payment for the stay from {arrival}",
    ),
    "payout": (
        "Payout of the channel for {home}, arrival {arrival}",
        "Transfer to the owner's account, {nights} nights",
        "Payout after check-in of {guest}",
    ),
    "refund": (
        "Cancelled by the guest, half of the price goes back to {guest}",
        "Refund for {nights} nights in {home} after cancellation",
        "Voluntary refund, stay from {arrival} cancelled",
    ),
    "fee": (
        "Commission of the channel for {nights} nights in {home}",
        "Host fee, reservation of {guest}",
        "Service fee for the stay from {arrival}",
    ),
}


def transactions(count: int = 320) -> Iterator[Row]:
    """The newest `count` transactions, newest first.

    No transaction is older than its reservation while `count` is at most the number of paid reservations (over 320).
    Beyond that number, the reservations repeat.
    """
    return (_transaction(number) for number in range(count))


@cache
def _paid_reservations() -> tuple[int, ...]:
    numbers = range(_PAID_RESERVATIONS)
    return tuple(number for number in numbers if booking(number)[0].status in _PAID_STATUSES)


def _transaction(number: int) -> Row:
    paid = _paid_reservations()
    made, _ = booking(paid[number % len(paid)])
    rng = Random(_SEED + number)
    kind = _kind(rng, made)
    return {
        "id": FIRST_TRANSACTION_ID + number,
        "accountId": ACCOUNT_ID,
        "listingMapId": made.home.id,
        "channelId": made.channel.id,
        "reservationId": made.id,
        "type": kind,
        "status": _status(rng, kind),
        "amount": _amount(kind, made),
        "currency": made.home.currency,
        "paymentMethod": "credit_card",
        "paymentProvider": "offline" if made.channel is AIRBNB else "stripe",
        "description": _description(rng, kind, made),
        "baseRate": made.money.base,
        "vat": 0,
        "cityTax": made.money.tax,
        "cleaningFeeValue": made.money.cleaning,
        "hostChannelFee": made.money.host_fee,
        "insertedOn": stamp(inserted_on(number)),
        "updatedOn": stamp(last_change(rng, inserted_on(number))),
    }


def _kind(rng: Random, made: SampleBooking) -> str:
    if made.status == "cancelled":
        return "refund"
    return rng.choices(("charge", "payout", "fee"), (45, 35, 20))[0]


def _status(rng: Random, kind: str) -> str:
    """Only a charge can fail. Payouts, refunds and fees are paid or pending."""
    if kind == "charge":
        return rng.choices(("paid", "pending", "failed"), (70, 18, 12))[0]
    return rng.choices(("paid", "pending"), (75, 25))[0]


def _amount(kind: str, made: SampleBooking) -> float:
    money = made.money
    amounts = {
        "charge": money.total,
        "payout": money.payout,
        "refund": -made.home.rounded(money.total / 2),
        "fee": -money.host_fee,
    }
    return amounts[kind]


def _description(rng: Random, kind: str, made: SampleBooking) -> str:
    return rng.choice(_DESCRIPTIONS[kind]).format(
        nights=made.nights, home=made.home.nickname, guest=made.guest.name, arrival=made.arrival.isoformat()
    )
