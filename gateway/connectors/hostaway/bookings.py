"""Bookings: the fields of Hostaway's reservations.

Canonical names are the product's (checkInDate, propertyId); sources are upstream's (arrivalDate, listingMapId).
"""

from typing import Any

from django.db.models import Q

from context_protection.core.fields import Field
from context_protection.core.shapes import Section
from gateway.connectors.hostaway import statuses
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.fields import (
    AMOUNT,
    CODE,
    CONTAINS,
    CREATED,
    DATE,
    INTEGER,
    MOMENT,
    TEXT,
    Filter,
    ResourceField,
    amounts,
    moments,
)
from gateway.connectors.hostaway.models import Booking

# Guest data other than the name: shown in single bookings, but not in lists.
GUEST_CONTACT = (
    "guestEmail",
    "phone",
    "guestAddress",
    "guestZipCode",
    "guestExternalAccountId",
    "guestPicture",
)


def _has_status(status: str) -> Q:
    return Q(status=status) if status in statuses.CANONICAL else Q(source_status=status)


FIELDS = (
    ResourceField("id", INTEGER, column="id", in_row=True),
    ResourceField(
        "status",
        CODE,
        column="status",
        in_row=True,
        filters=(
            Filter(
                "status",
                "confirmed covers upstream's new and modified.",
                one_of=(statuses.CONFIRMED, *statuses.UPSTREAM),
                condition=_has_status,
            ),
        ),
        convert=statuses.canonical_status,
        elsewhere=dict.fromkeys(statuses.SOURCES_OF_CONFIRMED, "sourceStatus"),
    ),
    ResourceField(
        "guestName",
        TEXT,
        column="guest_name",
        in_row=True,
        filters=(Filter("guestName", "Part of the guest's name.", CONTAINS),),
    ),
    ResourceField(
        "checkInDate",
        DATE,
        source="arrivalDate",
        column="check_in",
        in_row=True,
        filters=(
            Filter("checkInFrom", "Arrival on or after.", "gte"),
            Filter("checkInTo", "Arrival on or before.", "lte"),
        ),
    ),
    ResourceField(
        "checkOutDate",
        DATE,
        source="departureDate",
        column="check_out",
        in_row=True,
        filters=(
            Filter("checkOutFrom", "Departure on or after.", "gte"),
            Filter("checkOutTo", "Departure on or before.", "lte"),
        ),
    ),
    ResourceField(
        "totalPrice",
        AMOUNT,
        column="total_price",
        in_row=True,
        filters=(
            Filter("minTotalPrice", "Total price of at least.", "gte"),
            Filter("maxTotalPrice", "Total price of at most.", "lte"),
        ),
    ),
    ResourceField(
        "currency",
        CODE,
        column="currency",
        in_row=True,
        filters=(Filter("currency", "Currency code, e.g. EUR.", "iexact"),),
    ),
    ResourceField(
        "propertyId",
        INTEGER,
        source="listingMapId",
        column="property_id",
        in_row=True,
        filters=(Filter("propertyId", "Id of the listing."),),
    ),
    ResourceField("sourceStatus", CODE, source="status", column="source_status", preview=True),
    ResourceField("propertyName", source="listingName", preview=True),
    ResourceField(
        "channel",
        CODE,
        source="channelName",
        column="channel",
        preview=True,
        filters=(
            Filter(
                "channel",
                "Channel name, e.g. airbnbOfficial, homeaway, bookingcom, direct.",
                "iexact",
            ),
        ),
    ),
    ResourceField("nights", INTEGER, column="nights", preview=True),
    ResourceField("guests", INTEGER, source="numberOfGuests", column="guests", preview=True),
    ResourceField("confirmationCode", preview=True),
    ResourceField("insertedOn", MOMENT, column="inserted_on", preview=True, filters=CREATED),
    ResourceField("guestNote", preview=True),
    ResourceField("hostNote", preview=True),
    *moments("updatedOn", "latestActivityOn", "reservationDate", "cancellationDate", "pendingExpireDate"),
    *amounts(
        "taxAmount",
        "cleaningFee",
        "securityDepositFee",
        "remainingBalance",
        "channelCommissionAmount",
        "hostawayCommissionAmount",
        "airbnbExpectedPayoutAmount",
        "airbnbListingBasePrice",
        "airbnbListingCancellationHostFee",
        "airbnbListingCancellationPayout",
        "airbnbListingCleaningFee",
        "airbnbListingHostFee",
        "airbnbListingSecurityPrice",
        "airbnbOccupancyTaxAmountPaidToHost",
        "airbnbTotalPaidAmount",
        "airbnbTransientOccupancyTaxPaidAmount",
    ),
)

SECTIONS = (
    Section(
        "financial",
        (
            "total*",
            "tax*",
            "*Price",
            "*Fee",
            "*Fees",
            "*Amount*",
            "*Payout",
            "*Paid*",
            "isPaid",
            "currency",
            "payment*",
            "remainingBalance",
            "financeField",
            "*Commission*",
            "reservationCouponId",
            "airbnbListing*",
            "guestPaymentCardIsVirtual",
            "stripe*",
            "braintree*",
        ),
    ),
    Section(
        "guest",
        (
            "guest*",
            "phone",
            "adults",
            "children",
            "infants",
            "pets",
            "numberOfGuests",
            "isGuest*",
            "customerUserId",
            "localeForMessaging*",
            "bookingcomBooker*",
            "bookingcomIsGenius*",
            "bookingcomS*",
        ),
    ),
    Section(
        "stay",
        (
            "listing*",
            "arrivalDate",
            "departureDate",
            "previous*",
            "checkInTime",
            "checkOutTime",
            "nights",
            "isDatesUnspecified",
            "reservationUnit",
            "externalUnitId",
            "externalPropertyId",
            "externalRatePlanId",
            "door*",
        ),
    ),
    Section("notes", ("hostNote", "hostProxyEmail", "comment", "customFieldValues")),
    Section(
        "channels",
        (
            "channel*",
            "source",
            "reservationId",
            "hostawayReservationId",
            "originalChannel",
            "confirmationCode",
            "airbnb*",
            "manualIcal*",
            "customerIcal*",
            "vrbo*",
            "marriott*",
            "bookingcom*",
        ),
    ),
    Section(
        "system",
        (
            "id",
            "status",
            "is*",
            "has*",
            "*On",
            "reservationDate",
            "pendingExpireDate",
            "assigneeUserId",
            "cancel*",
            "*CancellationPolicy",
            "insurance*",
            "claimStatus",
            "rentalAgreement*",
            "reservationAgreement",
        ),
    ),
)


def _base_rate(finance: Any) -> Any:
    """The price of the stay without fees and taxes, from upstream's list of finance fields."""
    lines = [line for line in finance if isinstance(line, dict)] if isinstance(finance, list) else []
    return next((line.get("value") for line in lines if line.get("name") == "baseRate"), None)


BOOKINGS = FieldTable(
    name="booking",
    model=Booking,
    list_description="Reservations: guest, dates, status, price. Newest first.",
    record_description="One reservation: guest and contact, stay, finances, notes, channels.",
    fields=FIELDS,
    sections=SECTIONS,
    examples={
        "where": {"status": "confirmed", "totalPrice": {"gte": 500}},
        "aggregate": {
            "groupBy": ["channel", {"field": "checkInDate", "bucket": "month"}],
            "metrics": [{"op": "sum", "field": "totalPrice"}],
        },
    },
    left_out_of_lists=GUEST_CONTACT,
    aliases=(Field("total", "totalPrice"), Field("price.basePrice", "financeField", _base_rate)),
    section_aliases={
        "guestDetails": "guest",
        "policies": "system",
        "priceBreakdown": "financial",
        "propertyDetails": "stay",
        "amenities": "stay",  # a booking holds only the property's id and name, not its amenities
    },
)
