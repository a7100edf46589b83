"""Listings: the fields of Hostaway's properties.

Canonical names are the product's (bedrooms, maxGuests); sources are upstream's (bedroomsNumber, personCapacity).
"""

from context_protection.core.fields import Field
from context_protection.core.shapes import Section
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.fields import (
    AMOUNT,
    CODE,
    CONTAINS,
    CREATED,
    INTEGER,
    MOMENT,
    REAL,
    REQUIRED_TEXT,
    TEXT,
    Filter,
    ResourceField,
    amounts,
    moments,
)
from gateway.connectors.hostaway.models import Listing

FIELDS = (
    ResourceField("id", INTEGER, column="id", in_row=True),
    ResourceField(
        "name",
        REQUIRED_TEXT,
        column="name",
        in_row=True,
        filters=(Filter("name", "Part of the name.", CONTAINS),),
    ),
    ResourceField(
        "status",
        CODE,
        source="specialStatus",
        column="status",
        in_row=True,
        convert=lambda special: special or "active",  # upstream sets a status only for listings that are not active
    ),
    ResourceField(
        "city",
        TEXT,
        column="city",
        in_row=True,
        filters=(Filter("city", "Part of the city.", CONTAINS),),
    ),
    ResourceField(
        "country",
        TEXT,
        column="country",
        in_row=True,
        filters=(Filter("country", "Part of the country.", CONTAINS),),
    ),
    ResourceField(
        "bedrooms",
        REAL,
        source="bedroomsNumber",
        column="bedrooms",
        in_row=True,
        filters=(Filter("minBedrooms", "Bedrooms, at least.", "gte"),),
    ),
    ResourceField("bathrooms", REAL, source="bathroomsNumber", column="bathrooms", in_row=True),
    ResourceField(
        "maxGuests",
        INTEGER,
        source="personCapacity",
        column="max_guests",
        in_row=True,
        filters=(Filter("minGuests", "Guests it holds, at least.", "gte"),),
    ),
    ResourceField(
        "price",
        AMOUNT,
        column="price",
        in_row=True,
        filters=(
            Filter("minPrice", "Price per night of at least.", "gte"),
            Filter("maxPrice", "Price per night of at most.", "lte"),
        ),
    ),
    ResourceField(
        "currency",
        CODE,
        source="currencyCode",
        column="currency",
        in_row=True,
        filters=(Filter("currency", "Currency code.", "iexact"),),
    ),
    ResourceField("timeZone", source="timeZoneName", preview=True),
    ResourceField("checkInFrom", source="checkInTimeStart", preview=True),
    ResourceField("checkOutUntil", source="checkOutTime", preview=True),
    ResourceField("minNights", preview=True),
    ResourceField("cleaningFee", AMOUNT, preview=True),
    ResourceField("rating", source="averageReviewRating", preview=True),
    ResourceField("description", preview=True),
    ResourceField("insertedOn", MOMENT, column="inserted_on", filters=CREATED),
    *moments("latestActivityOn"),
    *amounts("averageNightlyPrice", "checkinFee", "priceForExtraPerson", "refundableDamageDeposit"),
)

SECTIONS = (
    Section(
        "texts",
        (
            "description",
            "houseRules",
            "keyPickup",
            "specialInstruction",
            "cleaningInstruction",
            "listingAgreementText",
            "airbnb[ANST]*",
            "airbnbInteraction",
            "homeawayProperty*",
            "bookingcomProperty*",
        ),
    ),
    Section(
        "location",
        ("country*", "state", "city", "street", "*ddress", "zipcode", "lat", "lng", "timeZoneName"),
    ),
    Section(
        "rooms",
        (
            "*Number",
            "roomType",
            "bathroomType",
            "bedType",
            "listingBedTypes",
            "squareMeters",
            "*Capacity",
            "max*Allowed",
            "guestsIncluded",
            "listingUnits",
        ),
    ),
    Section("amenities", ("listingAmenities",)),
    Section("images", ("listingImages", "thumbnailUrl")),
    Section(
        "pricing",
        (
            "price*",
            "*Price",
            "*Fee",
            "*Tax",
            "*Discount",
            "*Markup",
            "currencyCode",
            "refundable*",
            "listingFeeSetting",
            "isDepositStayCollected",
        ),
    ),
    Section(
        "rules",
        (
            "check*",
            "min*",
            "max*",
            "instantBook*",
            "allow*",
            "*LeadTime",
            "*ancellationPolicy*",
            "sameDay*",
            "door*",
            "wifi*",
        ),
    ),
    Section(
        "system",
        (
            "id",
            "name",
            "*Name",
            "*Status*",
            "*On",
            "*Rating",
            "starRating",
            "propertyTypeId",
            "listingTags",
            "listingSettings",
            "customFieldValues",
            "contact*",
            "invoicing*",
            "language",
            "propertyLicense*",
            "*Url",
            "*Urls",
            "airbnb*",
            "vrbo*",
            "external*",
            "partners*",
        ),
    ),
)

LISTINGS = FieldTable(
    name="listing",
    model=Listing,
    list_description="Properties: name, place, size and price.",
    record_description="One property: texts, rooms, amenities, images, pricing, rules.",
    fields=FIELDS,
    sections=SECTIONS,
    updated=("updatedOn", "latestActivityOn"),
    examples={
        "where": {"price": {"lte": 150}},
        "aggregate": {"groupBy": ["city"], "metrics": [{"op": "avg", "field": "price"}]},
    },
    aliases=(Field("price.basePrice", "price"),),
    section_aliases={"priceBreakdown": "pricing", "propertyDetails": "rooms"},
)
