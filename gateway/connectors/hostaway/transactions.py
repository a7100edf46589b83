"""Transactions: the fields of Hostaway's charges.

Canonical names are the product's (bookingId, propertyId); sources are upstream's (reservationId, listingMapId).
"""

from context_protection.core.shapes import Section
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.fields import (
    AMOUNT,
    CODE,
    CREATED,
    INTEGER,
    MOMENT,
    Filter,
    ResourceField,
    amounts,
    moments,
)
from gateway.connectors.hostaway.models import Transaction

FIELDS = (
    ResourceField("id", INTEGER, column="id", in_row=True),
    ResourceField(
        "type",
        CODE,
        column="type",
        in_row=True,
        filters=(Filter("type", "charge, payout, refund, fee …"),),
    ),
    ResourceField(
        "status",
        CODE,
        column="status",
        in_row=True,
        filters=(Filter("status", "paid, pending, failed …"),),
    ),
    ResourceField(
        "amount",
        AMOUNT,
        column="amount",
        in_row=True,
        filters=(
            Filter("minAmount", "Amount of at least.", "gte"),
            Filter("maxAmount", "Amount of at most.", "lte"),
        ),
    ),
    ResourceField(
        "currency",
        CODE,
        column="currency",
        in_row=True,
        filters=(Filter("currency", "Currency code.", "iexact"),),
    ),
    ResourceField(
        "bookingId",
        INTEGER,
        source="reservationId",
        column="booking_id",
        in_row=True,
        filters=(Filter("bookingId", "Id of the booking."),),
    ),
    ResourceField(
        "propertyId",
        INTEGER,
        source="listingMapId",
        column="property_id",
        in_row=True,
        filters=(Filter("propertyId", "Id of the listing."),),
    ),
    ResourceField("insertedOn", MOMENT, column="inserted_on", in_row=True, filters=CREATED),
    ResourceField("paymentMethod", preview=True),
    ResourceField("paymentProvider", preview=True),
    ResourceField("description", preview=True),
    *moments("updatedOn"),
    *amounts("baseRate", "vat", "cityTax", "cleaningFeeValue", "hostChannelFee"),
)

SECTIONS = (
    Section("payment", ("amount", "currency", "payment*", "status", "type", "description")),
    Section("breakdown", ("baseRate", "vat", "*Tax", "*Fee", "*Fees", "*Value", "*Discount")),
    Section("links", ("id", "accountId", "listingMapId", "channelId", "reservationId", "*On")),
)

TRANSACTIONS = FieldTable(
    name="transaction",
    model=Transaction,
    list_description="Charges, payouts, refunds and fees. Newest first.",
    record_description="One transaction: payment, breakdown, links to booking and listing.",
    fields=FIELDS,
    sections=SECTIONS,
    created=("insertedOn", "chargeDate", "scheduledDate"),
    examples={
        "where": {"amount": {"gte": 100}},
        "aggregate": {"groupBy": ["type", "currency"], "metrics": [{"op": "sum", "field": "amount"}]},
    },
)
