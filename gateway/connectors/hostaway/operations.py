"""Hostaway's operations: listings, bookings, transactions, documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Q

from context_protection.configuration.revisions import contents
from context_protection.core.errors import InvalidArgument, NotFound
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.query.columns import AskedColumns
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import Shape
from context_protection.orm.querysets import Columns, Whole
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.hostaway import freshness, originals, query, shapes, statuses
from gateway.connectors.hostaway.documents import StoredText
from gateway.connectors.hostaway.freshness import DatedRows
from gateway.connectors.hostaway.models import Booking, Document, Listing, Transaction, UpstreamObject

Arguments = Mapping[str, Any]
Filter = Callable[[Any], Q]


def number(value: Decimal | float | None) -> int | float | None:
    """A stored number as upstream writes it: 60, 3083.88."""
    if value is None:
        return None
    return int(value) if value % 1 == 0 and -(2**53) < value < 2**53 else float(value)


def moment(value: datetime | None) -> str | None:
    """A stored time as upstream writes it, in UTC."""
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


# -- Parameters -------------------------------------------------------------------------------------


def _date(description: str) -> dict[str, Any]:
    return {"type": "string", "format": "date", "description": description}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": 200, "description": description, **more}


def _integer(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "number", "description": description}


def _id(what: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": f"The {what}'s id."}


def _order(columns: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "string",
        "pattern": f"^-?({'|'.join(columns)})$",
        "default": "-insertedOn",
        "description": "- for descending.",
    }


# -- Lists ------------------------------------------------------------------------------------------


def _day(value: str) -> datetime:
    return datetime.fromisoformat(value).replace(tzinfo=UTC)


def _from(column: str) -> Filter:
    return lambda value: Q(**{f"{column}__gte": value})


def _to(column: str) -> Filter:
    return lambda value: Q(**{f"{column}__lte": value})


def _at_least(column: str) -> Filter:
    """For amounts: compares the decimal as it is written, as the nearest float might exclude the amount itself."""
    return lambda value: Q(**{f"{column}__gte": Decimal(str(value))})


def _at_most(column: str) -> Filter:
    return lambda value: Q(**{f"{column}__lte": Decimal(str(value))})


def _is(column: str) -> Filter:
    return lambda value: Q(**{column: value})


def _like(column: str) -> Filter:
    return lambda value: Q(**{f"{column}__icontains": value})


CREATED: Mapping[str, Filter] = {
    "createdFrom": lambda value: Q(inserted_on__gte=_day(value)),
    "createdTo": lambda value: Q(inserted_on__lte=datetime.combine(_day(value), time.max, UTC)),
}
CREATED_PARAMETERS = {
    "createdFrom": _date("Created on or after."),
    "createdTo": _date("Created on or before."),
}


@dataclass(frozen=True)
class _Resource:
    """One type of object: its table, and how its list is filtered, sorted and queried."""

    model: type[UpstreamObject]
    shape: Shape
    columns: Columns
    filters: Mapping[str, Filter]
    orders: Mapping[str, str]
    askable: AskedColumns

    def list(self, arguments: Arguments, caller: Caller) -> Payload:
        _check_ranges(arguments)
        conditions = [self.filters[name](value) for name, value in arguments.items() if name in self.filters]
        return DatedRows(
            self.model._default_manager.filter(*conditions),
            shape=self.shape,
            columns=replace(self.columns, whole=_whole(caller)),
            order=_ordered(arguments["order"], self.orders),
            askable=replace(self.askable, reveal=caller.reveal),
        )

    def record(self, arguments: Arguments, caller: Caller) -> Payload:
        whole = _whole(caller)
        found = self.model._default_manager.filter(id=arguments["id"]).values_list(*whole.columns).first()
        if found is None:
            raise _not_found(self.shape.name, arguments["id"], f"list_{self.shape.name}s")
        return Record(whole.read(*found), self.shape, note=freshness.note(self.model))


AS_STORED = Whole()


def _whole(caller: Caller) -> Whole:
    """How the caller sees stored objects: redacted, except for the fields that its key reveals."""
    if not caller.reveal:
        return AS_STORED
    return Whole(("data", "sealed"), partial(originals.restored, reveal=caller.reveal))


def _ordered(order: str, sortable: Mapping[str, str]) -> Sequence[str]:
    """Columns to sort by; rows that are equal there are sorted by their unique id."""
    sign, column = ("-" if order.startswith("-") else ""), sortable[order.lstrip("-")]
    return (sign + column,) if column == "id" else (sign + column, f"{sign}id")


def _check_ranges(arguments: Arguments) -> None:
    for low in arguments:
        if low.endswith("From"):
            high = f"{low.removesuffix('From')}To"
        elif low.startswith("min"):
            high = f"max{low.removeprefix('min')}"
        else:
            continue
        if high in arguments and arguments[low] > arguments[high]:
            raise InvalidArgument(
                f"{low} ({arguments[low]}) is above {high} ({arguments[high]}): nothing can match.",
                reason="invalid_range",
                parameter=low,
                value=arguments[low],
                expected=f"at most {high}",
                suggestion=f"Exchange {low} and {high}.",
            )


def _not_found(what: str, identifier: Any, list_operation: str) -> NotFound:
    return NotFound(
        f"There is no {what} {identifier}.",
        reason="not_found",
        parameter="id",
        value=identifier,
        expected=f"the id of a {what}",
        suggestion=f"Find the id with {list_operation}.",
    )


# -- Bookings ---------------------------------------------------------------------------------------

BOOKING_COLUMNS = Columns(
    row={
        "id": "id",
        "status": "status",
        "guestName": "guest_name",
        "checkInDate": "check_in",
        "checkOutDate": "check_out",
        "totalPrice": "total_price",
        "currency": "currency",
        "propertyId": "property_id",
    },
    convert={"totalPrice": number},
)
BOOKING_FILTERS: Mapping[str, Filter] = {
    "status": lambda value: Q(status=value) if value in statuses.CANONICAL else Q(source_status=value),
    "propertyId": _is("property_id"),
    "guestName": _like("guest_name"),
    "channel": lambda value: Q(channel__iexact=value),
    "checkInFrom": _from("check_in"),
    "checkInTo": _to("check_in"),
    "checkOutFrom": _from("check_out"),
    "checkOutTo": _to("check_out"),
    "minTotalPrice": _at_least("total_price"),
    "maxTotalPrice": _at_most("total_price"),
    "currency": lambda value: Q(currency__iexact=value),
    **CREATED,
}
BOOKING_ORDERS = {
    "insertedOn": "inserted_on",
    "checkInDate": "check_in",
    "checkOutDate": "check_out",
    "totalPrice": "total_price",
    "guestName": "guest_name",
    "status": "status",
    "propertyId": "property_id",
    "nights": "nights",
    "id": "id",
}
BOOKING_PARAMETERS = {
    "status": {
        "type": "string",
        "enum": [statuses.CONFIRMED, *statuses.UPSTREAM],
        "description": "confirmed covers upstream's new and modified.",
    },
    "propertyId": _integer("Id of the listing."),
    "guestName": _text("Part of the guest's name."),
    "channel": _text("Channel name, e.g. airbnbOfficial, homeaway, bookingcom, direct."),
    "checkInFrom": _date("Arrival on or after."),
    "checkInTo": _date("Arrival on or before."),
    "checkOutFrom": _date("Departure on or after."),
    "checkOutTo": _date("Departure on or before."),
    "minTotalPrice": _number("Total price of at least."),
    "maxTotalPrice": _number("Total price of at most."),
    "currency": _text("Currency code, e.g. EUR."),
    **CREATED_PARAMETERS,
    "order": _order(BOOKING_ORDERS),
}
BOOKING_QUIET = frozenset(
    {"channel", "checkOutFrom", "checkOutTo", "minTotalPrice", "maxTotalPrice", "currency", *CREATED}
)
BOOKINGS = _Resource(Booking, shapes.BOOKING, BOOKING_COLUMNS, BOOKING_FILTERS, BOOKING_ORDERS, query.BOOKINGS)

# -- Listings ---------------------------------------------------------------------------------------

LISTING_COLUMNS = Columns(
    row={
        "id": "id",
        "name": "name",
        "status": "status",
        "city": "city",
        "country": "country",
        "bedrooms": "bedrooms",
        "bathrooms": "bathrooms",
        "maxGuests": "max_guests",
        "price": "price",
        "currency": "currency",
    },
    convert={
        "price": number,
        "bedrooms": number,
        "bathrooms": number,
    },
)
LISTING_FILTERS: Mapping[str, Filter] = {
    "name": _like("name"),
    "city": _like("city"),
    "country": _like("country"),
    "minBedrooms": _from("bedrooms"),
    "minGuests": _from("max_guests"),
    "minPrice": _at_least("price"),
    "maxPrice": _at_most("price"),
    "currency": lambda value: Q(currency__iexact=value),
    **CREATED,
}
LISTING_ORDERS = {
    "insertedOn": "inserted_on",
    "name": "name",
    "city": "city",
    "price": "price",
    "bedrooms": "bedrooms",
    "maxGuests": "max_guests",
    "id": "id",
}
LISTING_PARAMETERS = {
    "name": _text("Part of the name."),
    "city": _text("Part of the city."),
    "country": _text("Part of the country."),
    "minBedrooms": _number("Bedrooms, at least."),
    "minGuests": _integer("Guests it holds, at least."),
    "minPrice": _number("Price per night of at least."),
    "maxPrice": _number("Price per night of at most."),
    "currency": _text("Currency code."),
    **CREATED_PARAMETERS,
    "order": _order(LISTING_ORDERS),
}
LISTING_QUIET = frozenset({"country", "minBedrooms", "minPrice", "maxPrice", "currency", *CREATED})
LISTINGS = _Resource(Listing, shapes.LISTING, LISTING_COLUMNS, LISTING_FILTERS, LISTING_ORDERS, query.LISTINGS)

# -- Transactions -----------------------------------------------------------------------------------

TRANSACTION_COLUMNS = Columns(
    row={
        "id": "id",
        "type": "type",
        "status": "status",
        "amount": "amount",
        "currency": "currency",
        "bookingId": "booking_id",
        "propertyId": "property_id",
        "insertedOn": "inserted_on",
    },
    convert={"amount": number, "insertedOn": moment},
)
TRANSACTION_FILTERS: Mapping[str, Filter] = {
    "type": _is("type"),
    "status": _is("status"),
    "bookingId": _is("booking_id"),
    "propertyId": _is("property_id"),
    "minAmount": _at_least("amount"),
    "maxAmount": _at_most("amount"),
    "currency": lambda value: Q(currency__iexact=value),
    **CREATED,
}
TRANSACTION_ORDERS = {
    "insertedOn": "inserted_on",
    "amount": "amount",
    "type": "type",
    "status": "status",
    "bookingId": "booking_id",
    "propertyId": "property_id",
    "id": "id",
}
TRANSACTION_PARAMETERS = {
    "type": _text("charge, payout, refund, fee …"),
    "status": _text("paid, pending, failed …"),
    "bookingId": _integer("Id of the booking."),
    "propertyId": _integer("Id of the listing."),
    "minAmount": _number("Amount of at least."),
    "maxAmount": _number("Amount of at most."),
    "currency": _text("Currency code."),
    **CREATED_PARAMETERS,
    "order": _order(TRANSACTION_ORDERS),
}
TRANSACTION_QUIET = frozenset({"propertyId", "minAmount", "maxAmount", "currency", *CREATED})
TRANSACTIONS = _Resource(
    Transaction, shapes.TRANSACTION, TRANSACTION_COLUMNS, TRANSACTION_FILTERS, TRANSACTION_ORDERS, query.TRANSACTIONS
)

# -- Documents --------------------------------------------------------------------------------------

DOCUMENT_ORDERS = {"insertedOn": "inserted_on", "title": "title", "id": "id"}


def _fetch_documents(arguments: Arguments, caller: Caller) -> Payload:
    documents = Document.objects.select_related("content").order_by(*_ordered(arguments["order"], DOCUMENT_ORDERS))
    if "title" in arguments:
        documents = documents.filter(title__icontains=arguments["title"])
    return MemoryRows([_described(document) for document in documents], shapes.DOCUMENT)


def _described(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "mediaType": document.media_type,
        "encoding": document.encoding,
        "lines": document.lines,
        "bytes": document.content.bytes if document.content else document.bytes,  # of the text, if it is one
        "estimatedTokens": document.estimated_tokens,
        "updatedOn": moment(document.updated_on),
    }


def _fetch_document(arguments: Arguments, caller: Caller) -> Payload:
    document = Document.objects.select_related("content").filter(id=arguments["id"]).first()
    if document is None:
        raise _not_found("document", arguments["id"], "list_documents")
    return StoredText.of(document)


# -- The operations ---------------------------------------------------------------------------------


def _names(shape: Shape) -> tuple[str, ...]:
    return tuple(field.name for field in shape.row)


def operations() -> list[Operation]:
    return [
        Operation(
            name="list_listings",
            title="List listings",
            description="Properties: name, place, size and price. Filter and sort; rows are condensed.",
            kind=Kind.LIST,
            parameters=LISTING_PARAMETERS,
            quiet=LISTING_QUIET,
            fetch=LISTINGS.list,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/listings",
            record_operation="get_listing",
            field_names=_names(shapes.LISTING),
        ),
        Operation(
            name="get_listing",
            title="Get a listing",
            description="One property: texts, rooms, amenities, images, pricing, rules.",
            kind=Kind.RECORD,
            parameters={"id": _id("listing")},
            required=("id",),
            fetch=LISTINGS.record,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/listings/{id}",
            field_names=tuple(shapes.LISTING.section_names),
        ),
        Operation(
            name="list_bookings",
            title="List bookings",
            description="Reservations: guest, dates, status, price. Filter and sort; newest first; rows are condensed.",
            kind=Kind.LIST,
            parameters=BOOKING_PARAMETERS,
            quiet=BOOKING_QUIET,
            fetch=BOOKINGS.list,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/bookings",
            record_operation="get_booking",
            field_names=_names(shapes.BOOKING),
        ),
        Operation(
            name="get_booking",
            title="Get a booking",
            description="One reservation: guest and contact, stay, finances, notes, channel, policies.",
            kind=Kind.RECORD,
            parameters={"id": _id("booking")},
            required=("id",),
            fetch=BOOKINGS.record,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/bookings/{id}",
            field_names=tuple(shapes.BOOKING.section_names),
        ),
        Operation(
            name="list_transactions",
            title="List transactions",
            description="Charges, payouts, refunds and fees, with their bookings. Filter and sort; newest first.",
            kind=Kind.LIST,
            parameters=TRANSACTION_PARAMETERS,
            quiet=TRANSACTION_QUIET,
            fetch=TRANSACTIONS.list,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/transactions",
            record_operation="get_transaction",
            field_names=_names(shapes.TRANSACTION),
        ),
        Operation(
            name="get_transaction",
            title="Get a transaction",
            description="One transaction: payment, breakdown, links to booking and listing.",
            kind=Kind.RECORD,
            parameters={"id": _id("transaction")},
            required=("id",),
            fetch=TRANSACTIONS.record,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/transactions/{id}",
            field_names=tuple(shapes.TRANSACTION.section_names),
        ),
        Operation(
            name="list_documents",
            title="List documents",
            description="Logs, manuals and guides, with their sizes; read one with read_document.",
            kind=Kind.LIST,
            parameters={"title": _text("Part of the title."), "order": _order(DOCUMENT_ORDERS)},
            form=("where", "aggregate", "limit", "cursor", "fields"),
            fetch=_fetch_documents,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/documents",
            record_operation="read_document",
            field_names=_names(shapes.DOCUMENT),
        ),
        Operation(
            name="read_document",
            title="Read a document",
            description="A document's text; a long one in chunks (follow nextCursor), or just a range of lines.",
            kind=Kind.TEXT,
            parameters={"id": _text("The document's id.")},
            required=("id",),
            fetch=_fetch_document,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/documents/{id}",
        ),
    ]
