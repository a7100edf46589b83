"""The columns that queries of Hostaway's lists can name: canonical names with their database columns, amounts with
their currency, and times without a column. Any other of upstream's names can be queried too."""

from context_protection.core.query.columns import AskedColumn, AskedColumns, Type
from gateway.connectors.hostaway import shapes
from gateway.connectors.hostaway.statuses import SOURCES_OF_CONFIRMED, canonical_status


def _moments(*names: str) -> tuple[AskedColumn, ...]:
    return tuple(AskedColumn(name, Type.MOMENT) for name in names)


def _amounts(*names: str) -> tuple[AskedColumn, ...]:
    return tuple(AskedColumn(name, Type.NUMBER, unit="currency") for name in names)


INSERTED_ON = AskedColumn("insertedOn", Type.MOMENT, column="inserted_on")

BOOKINGS = AskedColumns(
    (
        AskedColumn("id", Type.NUMBER, column="id"),
        AskedColumn(
            "status",
            Type.TEXT,
            column="status",
            convert=canonical_status,
            elsewhere=dict.fromkeys(SOURCES_OF_CONFIRMED, "sourceStatus"),
        ),
        AskedColumn("sourceStatus", Type.TEXT, "status", column="source_status"),
        AskedColumn("guestName", Type.TEXT, column="guest_name"),
        AskedColumn("checkInDate", Type.DATE, "arrivalDate", column="check_in"),
        AskedColumn("checkOutDate", Type.DATE, "departureDate", column="check_out"),
        AskedColumn("nights", Type.NUMBER, column="nights"),
        AskedColumn("guests", Type.NUMBER, "numberOfGuests", column="guests"),
        AskedColumn("totalPrice", Type.NUMBER, column="total_price", unit="currency"),
        AskedColumn("currency", Type.TEXT, column="currency"),
        AskedColumn("propertyId", Type.NUMBER, "listingMapId", column="property_id"),
        AskedColumn("channel", Type.TEXT, "channelName", column="channel"),
        INSERTED_ON,
        *_moments("updatedOn", "latestActivityOn", "reservationDate", "cancellationDate", "pendingExpireDate"),
        *_amounts(
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
    ),
    shapes.BOOKING,
)

LISTINGS = AskedColumns(
    (
        AskedColumn("id", Type.NUMBER, column="id"),
        AskedColumn("name", Type.TEXT, column="name"),
        AskedColumn("status", Type.TEXT, "specialStatus", column="status"),
        AskedColumn("city", Type.TEXT, column="city"),
        AskedColumn("country", Type.TEXT, column="country"),
        AskedColumn("bedrooms", Type.NUMBER, "bedroomsNumber", column="bedrooms"),
        AskedColumn("bathrooms", Type.NUMBER, "bathroomsNumber", column="bathrooms"),
        AskedColumn("maxGuests", Type.NUMBER, "personCapacity", column="max_guests"),
        AskedColumn("price", Type.NUMBER, column="price", unit="currency"),
        AskedColumn("currency", Type.TEXT, "currencyCode", column="currency"),
        INSERTED_ON,
        *_moments("latestActivityOn"),
        *_amounts("averageNightlyPrice", "checkinFee", "cleaningFee", "priceForExtraPerson", "refundableDamageDeposit"),
    ),
    shapes.LISTING,
)

TRANSACTIONS = AskedColumns(
    (
        AskedColumn("id", Type.NUMBER, column="id"),
        AskedColumn("type", Type.TEXT, column="type"),
        AskedColumn("status", Type.TEXT, column="status"),
        AskedColumn("amount", Type.NUMBER, column="amount", unit="currency"),
        AskedColumn("currency", Type.TEXT, column="currency"),
        AskedColumn("bookingId", Type.NUMBER, "reservationId", column="booking_id"),
        AskedColumn("propertyId", Type.NUMBER, "listingMapId", column="property_id"),
        INSERTED_ON,
        *_moments("updatedOn"),
        *_amounts("baseRate", "vat", "cityTax", "cleaningFeeValue", "hostChannelFee"),
    ),
    shapes.TRANSACTION,
)
