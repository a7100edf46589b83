"""The twelve listings in the form of GET /listings."""

from datetime import datetime
from random import Random
from typing import Any

from gateway.connectors.hostaway.sample import listing_words as banks
from gateway.connectors.hostaway.sample.homes import HOMES, Home
from gateway.connectors.hostaway.sample.prose import Writer, words
from gateway.connectors.hostaway.sample.timeline import stamp

Row = dict[str, Any]

_SEED = 7_200_100
_WRITER = Writer(banks.WORDS)
_LANGUAGES = {"PT": "Portuguese", "TH": "Thai", "JP": "Japanese", "FR": "French", "MX": "Spanish"}

# Upstream's keys that are empty in all listings of this account.
_NEVER_FILLED = words("""
    keyPickup specialInstruction specialStatus starRating maxChildrenAllowed maxInfantsAllowed
    maxPetsAllowed instantBookableLeadTime airbnbTransit averageNightlyPrice listingSettings
    airbnbExportStatus vrboExportStatus bookingcomExportStatus expediaExportStatus marriotExportStatus
    googleExportStatus airbnbListingUrl vrboListingUrl expediaListingUrl googleVrListingUrl
    propertyLicenseNumber propertyLicenseType propertyLicenseIssueDate propertyLicenseExpirationDate
    invoicingContactName invoicingContactEmail invoicingContactPhone1 invoicingContactAddress
    invoicingContactCity invoicingContactCountry invoicingContactZipcode
""")
_NEVER_CHARGED = words("""
    propertyRentTax guestPerPersonPerNightTax guestStayTax guestNightlyTax refundableDamageDeposit
    isDepositStayCollected checkinFee priceForExtraPerson instantBookable
""")
_NAMES = words("name airbnbName homeawayPropertyName bookingcomPropertyName bookingcomPropertyRoomName")


def listings() -> list[Row]:
    """The listings, the oldest first."""
    return [_listing(home) for home in HOMES]


def _listing(home: Home) -> Row:
    rng = Random(_SEED + home.position)
    return {
        "id": home.id,
        "propertyTypeId": home.property_type,
        **dict.fromkeys(_NEVER_FILLED),
        **dict.fromkeys(_NEVER_CHARGED, 0),
        **_place(home),
        **_offer(home),
        **_texts(rng, home),
        **_secrets(rng, home),
        **_host(home),
        **_state(rng, home),
        "listingAmenities": _amenities(rng, home),
        "listingBedTypes": _bed_types(rng, home),
        "listingImages": [_image(rng, home, number) for number in range(home.images)],
        "listingTags": [],
        "listingUnits": [],
        "listingFeeSetting": [],
        "customFieldValues": [],
        "bookingEngineUrls": [],
    }


def _place(home: Home) -> Row:
    return {
        "country": home.country,
        "countryCode": home.country_code,
        "state": home.state,
        "city": home.city,
        "street": home.street,
        "address": f"{home.street}, {home.city}, {home.country}",
        "publicAddress": f"{home.area}, {home.city}",
        "zipcode": home.zipcode,
        "lat": home.lat,
        "lng": home.lng,
        "timeZoneName": home.time_zone,
    }


def _offer(home: Home) -> Row:
    return {
        "price": home.price,
        "currencyCode": home.currency,
        "cleaningFee": home.cleaning,
        "weeklyDiscount": 0.9,
        "monthlyDiscount": 0.75,
        "personCapacity": home.capacity,
        "guestsIncluded": 1,
        "bedroomsNumber": home.bedrooms,
        "bedsNumber": home.bedrooms + home.capacity // 3,
        "bathroomsNumber": home.bathrooms,
        "bathroomType": "private",
        "roomType": "entire_home",
        "squareMeters": home.square_meters,
        "minNights": 1,
        "maxNights": 1125,
        "checkInTimeStart": 15,
        "checkInTimeEnd": 23,
        "checkOutTime": 11,
        "cancellationPolicy": "moderate",
        "cancellationPolicyId": 79387,
        "airbnbBookingLeadTime": 4,
    }


def _texts(rng: Random, home: Home) -> Row:
    bank = banks.ROOMS + (banks.WARM_ROOMS if home.warm else banks.COLD_ROOMS)
    rooms = _WRITER.sentences(rng, bank, len(bank))
    description = _joined(home.opening, *_paragraphs(rooms[:35]), home.local)
    notes = _WRITER.text(rng, banks.HINTS, 8)
    return {
        **dict.fromkeys(_NAMES, home.name),
        "externalListingName": f"{home.name} | sleeps {home.capacity}",
        "internalListingName": f"{home.nickname} ({home.city})",
        "description": description,
        "houseRules": _WRITER.text(rng, banks.RULES, 14),
        "airbnbSummary": _summary(rng, home),
        "airbnbSpace": _joined(*_paragraphs(rooms[35:68])),
        "airbnbAccess": rng.choice(banks.ACCESS),
        "airbnbInteraction": _WRITER.fill(rng, rng.choice(banks.INTERACTION)),
        "airbnbNeighborhoodOverview": _WRITER.text(rng, banks.STREETS, 8),
        "airbnbNotes": notes,
        "homeawayPropertyHeadline": _filled(rng, rng.choice(banks.HEADLINES), home),
        # A host who fills in the same form for three channels pastes the same text.
        "homeawayPropertyDescription": _joined(description, *_paragraphs(rooms[68:78])),
        "bookingcomPropertyDescription": _joined(home.opening, *_paragraphs(rooms[:24])),
    }


def _summary(rng: Random, home: Home) -> str:
    chosen = rng.sample(banks.SUMMARIES, 2)
    return " ".join([home.opening, *(_filled(rng, sentence, home) for sentence in chosen)])


def _filled(rng: Random, sentence: str, home: Home) -> str:
    bedrooms = "one bedroom" if home.bedrooms == 1 else f"{home.bedrooms} bedrooms"
    return _WRITER.fill(
        rng,
        sentence,
        capacity=str(home.capacity),
        bedrooms=bedrooms,
        city=home.city,
        area=home.area,
        nickname=home.nickname,
    )


def _paragraphs(sentences: list[str]) -> list[str]:
    return [" ".join(sentences[start : start + 4]) for start in range(0, len(sentences), 4)]


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(filter(None, paragraphs))


def _secrets(rng: Random, home: Home) -> Row:
    """Invented values that only a guest may see, to show that the gateway withholds them."""
    network = home.nickname.replace(" ", "")
    wood, colour = rng.choice(banks.WORDS["wood"]), rng.choice(banks.WORDS["colour"])
    return {
        "wifiUsername": f"{network}-Guest",
        "wifiPassword": f"{wood}-{colour}-{rng.randrange(10, 100)}",
        "doorSecurityCode": f"{rng.randrange(1000, 10000)}#",
    }


def _host(home: Home) -> Row:
    return {
        "contactName": "Example",
        "contactSurName": "Host",
        "contactPhone1": "+1-555-0100",
        "contactEmail": "host@example.com",
        "contactLanguage": _LANGUAGES.get(home.country_code, "English"),
        "language": "en",
    }


def _state(rng: Random, home: Home) -> Row:
    return {
        "thumbnailUrl": f"https://images.example.com/{home.id}/thumb.jpg",
        "cleannessStatus": 2 if home.position == 7 else 1,
        "averageReviewRating": round(rng.uniform(4.2, 4.97), 2),
        "insertedOn": stamp(datetime(2023, 1 + home.position // 2, 11, 9)),
        "latestActivityOn": "2026-11-18 12:00:00",
    }


def _amenities(rng: Random, home: Home) -> list[Row]:
    chosen = rng.sample(banks.AMENITIES, rng.randint(23, 30))
    return [
        {
            "id": 17_000_000 + home.id * 20 + number,
            "amenityId": 1 + banks.AMENITIES.index(name),
            "amenityName": name,
            "insertedOn": "2024-01-01 00:00:00",
            "updatedOn": "2026-01-01 00:00:00",
        }
        for number, name in enumerate(chosen)
    ]


def _bed_types(rng: Random, home: Home) -> list[Row]:
    return [
        {
            "id": home.id * 10 + number,
            "bedTypeId": rng.choice((1, 2, 7)),
            "quantity": 1 if number < home.bedrooms - 1 else 2,
            "bedroomNumber": number + 1,
        }
        for number in range(home.bedrooms)
    ]


def _image(rng: Random, home: Home, number: int) -> Row:
    return {
        "id": home.id * 100 + number,
        "caption": _caption(rng),
        "bookingEngineCaption": None,
        "airbnbCaption": _caption(rng),
        "vrboCaption": None,
        "url": f"https://images.example.com/{home.id}/{rng.getrandbits(128):032x}.jpeg?aki_policy=x_large",
        "sortOrder": number + 1,
    }


def _caption(rng: Random) -> str:
    subject, detail = rng.choice(banks.CAPTION_SUBJECTS), rng.choice(banks.CAPTION_DETAILS)
    return f"{subject} {_WRITER.fill(rng, detail)}"
