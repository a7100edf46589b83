"""Reservations in the form of GET /reservations: 123 keys, most of them empty."""

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

from gateway.connectors.hostaway.sample import notes
from gateway.connectors.hostaway.sample.bookings import (
    AIRBNB,
    UNDECIDED,
    Detail,
    SampleBooking,
    booking,
    last_change,
)
from gateway.connectors.hostaway.sample.prose import words
from gateway.connectors.hostaway.sample.timeline import LAST_SYNC, stamp

Row = dict[str, Any]

KEYS = words("""
    id listingMapId listingName channelId channelName reservationId hostawayReservationId channelReservationId
    externalPropertyId guestAuthHash guestPortalUrl isProcessed isInitial isManuallyChecked isInstantBooked
    reservationDate pendingExpireDate guestName guestFirstName guestLastName guestExternalAccountId guestEmail
    guestPicture guestRecommendations guestTrips isGuestIdentityVerified isGuestVerifiedByEmail
    isGuestVerifiedByWorkEmail isGuestVerifiedByFacebook isGuestVerifiedByGovernmentId isGuestVerifiedByPhone
    isGuestVerifiedByReviews numberOfGuests adults children infants pets arrivalDate departureDate
    isDatesUnspecified checkInTime checkOutTime nights phone totalPrice taxAmount cleaningFee currency status
    paymentStatus cancellationDate cancelledBy hostNote guestNote doorCode comment confirmationCode
    airbnbExpectedPayoutAmount airbnbListingBasePrice airbnbListingCancellationHostFee
    airbnbListingCancellationPayout airbnbListingCleaningFee airbnbListingHostFee airbnbTotalPaidAmount
    airbnbTransientOccupancyTaxPaidAmount airbnbCancellationPolicy isStarred isArchived isPinned
    customFieldValues reservationFees reservationUnit insertedOn updatedOn latestActivityOn guestLocale
    localeForMessaging reservationAgreement financeField insuranceStatus cancellationPolicyId hostProxyEmail
    assigneeUserId customerIcalId customerIcalName guestPortalRevampUrl guestWork originalChannel
    remainingBalance hostawayCommissionAmount securityDepositFee isPaid ccName ccNumber ccNumberEndingDigits
    ccExpirationYear ccExpirationMonth cvc braintreeGuestId braintreeMessage stripeGuestId stripeMessage
    doorCodeVendor doorCodeInstruction airbnbListingSecurityPrice airbnbOccupancyTaxAmountPaidToHost
    reservationCouponId customerUserId localeForMessagingSource listingCustomFields rentalAgreementFileUrl
    guestPaymentCardIsVirtual claimStatus insurancePolicyId externalUnitId guestZipCode guestAddress guestCity
    guestCountry previousArrivalDate previousDepartureDate channelCommissionAmount source
""")

LEAN_KEYS = words("""
    id listingMapId listingName channelId channelName reservationId hostawayReservationId guestAuthHash
    guestPortalUrl reservationDate guestName guestFirstName guestLastName guestEmail numberOfGuests adults
    children arrivalDate departureDate checkInTime checkOutTime nights phone totalPrice taxAmount cleaningFee
    currency status paymentStatus cancellationDate cancelledBy hostNote doorCode insertedOn updatedOn
    latestActivityOn
""")

_NEVER_TRUE = words("""
    isInitial isManuallyChecked isInstantBooked guestRecommendations guestTrips isGuestIdentityVerified
    isGuestVerifiedByEmail isGuestVerifiedByWorkEmail isGuestVerifiedByFacebook isGuestVerifiedByGovernmentId
    isGuestVerifiedByPhone isGuestVerifiedByReviews infants pets isDatesUnspecified isStarred
    isArchived isPinned
""")

_EMPTY: Row = dict.fromkeys(KEYS) | dict.fromkeys(_NEVER_TRUE, 0)
_CODE_LETTERS = "ABCDEFGHJKMNPQRSTWXYZ0123456789"
_AIRBNB_POLICIES = ("tiered_pricing_non_refundable", "better_strict_with_grace_period", "moderate")


def reservations(count: int = 500) -> Iterator[Row]:
    """The newest `count` reservations, newest first; a row does not depend on `count`."""
    return (reservation(number) for number in range(count))


def reservation(number: int) -> Row:
    made, rng = booking(number)
    row = _EMPTY | _identity(rng, made) | _guest(rng, made) | _stay(rng, made) | _amounts(made)
    row |= _notes(rng, made) | _card(rng, made) | _times(rng, made)
    if made.detail is Detail.LEAN:
        return {key: row[key] for key in LEAN_KEYS}
    return row


def _identity(rng: Random, made: SampleBooking) -> Row:
    code = "HM" + "".join(rng.choices(_CODE_LETTERS, k=8))
    account = str(rng.randrange(10_000_000, 999_999_999))
    portal = f"{made.id}/{rng.getrandbits(256):064x}"
    return {
        "id": made.id,
        "listingMapId": made.home.id,
        "listingName": made.home.name,
        "channelId": made.channel.id,
        "channelName": made.channel.name,
        "reservationId": f"{made.home.id}-guest-{account}-confirmation-{code}",
        "hostawayReservationId": str(made.id),
        "channelReservationId": code,
        "confirmationCode": code,
        "externalPropertyId": str(rng.randrange(10**17, 10**18)),
        "guestExternalAccountId": account,
        "guestAuthHash": f"{rng.getrandbits(256):064x}",
        "guestPortalUrl": f"https://guest-portal.example.com/{portal}",
        "guestPortalRevampUrl": f"https://stay.example.com/{made.id}/{rng.getrandbits(64):016x}",
        "hostProxyEmail": f"c-{rng.getrandbits(128):032x}@host.example.org",
        "isProcessed": 1,
    }


def _guest(rng: Random, made: SampleBooking) -> Row:
    guest, from_airbnb = made.guest, made.channel is AIRBNB
    return {
        "guestName": guest.name,
        "guestFirstName": guest.first,
        "guestLastName": guest.last,
        "guestEmail": None if from_airbnb and rng.random() < 0.66 else guest.email,
        "guestPicture": _picture(rng) if from_airbnb else None,
        "guestLocale": guest.locale,
        "localeForMessaging": guest.locale,
        "guestCity": None if from_airbnb else guest.city,
        "guestCountry": None if from_airbnb else guest.country,
        # Airbnb sends a guest's phone number only after the booking is confirmed.
        "phone": None if from_airbnb and made.status in UNDECIDED else guest.phone,
        "numberOfGuests": made.adults + made.children,
        "adults": made.adults,
        "children": made.children,
    }


def _picture(rng: Random) -> str:
    return f"https://images.example.com/users/{rng.getrandbits(96):024x}.jpg?aki_policy=profile_x_medium"


def _stay(rng: Random, made: SampleBooking) -> Row:
    cancelled = made.status == "cancelled"
    moved = made.status == "modified" and rng.random() < 0.2
    return {
        "arrivalDate": made.arrival.isoformat(),
        "departureDate": made.departure.isoformat(),
        "previousArrivalDate": (made.arrival - timedelta(days=2)).isoformat() if moved else None,
        "previousDepartureDate": (made.departure - timedelta(days=2)).isoformat() if moved else None,
        "nights": made.nights,
        "checkInTime": 15,
        "checkOutTime": 11,
        "status": made.status,
        "cancellationDate": _cancellation_date(rng, made) if cancelled else None,
        "cancelledBy": rng.choice(("guest", "guest", "guest", "host")) if cancelled else None,
        "cancellationPolicyId": 79387,
        "doorCode": f"{rng.randrange(1000, 10000)}",
        "reservationAgreement": rng.choice(("not_signed", "signed", "not_required")),
        "insuranceStatus": "not_eligible",
    }


def _cancellation_date(rng: Random, made: SampleBooking) -> str:
    booked = made.inserted.date()
    last = min(made.arrival, LAST_SYNC.date())
    return (booked + timedelta(days=rng.randint(0, max((last - booked).days, 0)))).isoformat()


def _amounts(made: SampleBooking) -> Row:
    money = made.money
    row: Row = {
        "totalPrice": money.total,
        "taxAmount": money.tax,
        "cleaningFee": money.cleaning,
        "currency": made.home.currency,
        "financeField": list(money.lines),
        "reservationFees": [],
        "reservationUnit": [],
    }
    if made.channel is AIRBNB:
        return row | _airbnb_amounts(made)
    return row | {"channelCommissionAmount": money.host_fee if made.channel.name == "bookingcom" else None}


def _airbnb_amounts(made: SampleBooking) -> Row:
    money, cancelled = made.money, made.status == "cancelled"
    return {
        "airbnbExpectedPayoutAmount": money.payout,
        "airbnbListingBasePrice": money.base,
        "airbnbListingCancellationHostFee": 0,
        "airbnbListingCancellationPayout": round(money.payout / 2, 2) if cancelled else 0,
        "airbnbListingCleaningFee": money.cleaning,
        "airbnbListingHostFee": money.host_fee,
        "airbnbTotalPaidAmount": 0.0 if made.status in UNDECIDED else money.payout,
        "airbnbTransientOccupancyTaxPaidAmount": money.tax,
        "airbnbCancellationPolicy": _AIRBNB_POLICIES[made.number % 3],
    }


def _notes(rng: Random, made: SampleBooking) -> Row:
    return {
        "comment": "",
        "hostNote": _host_note(rng, made),
        "guestNote": _guest_note(rng, made),
        "customFieldValues": _custom_fields(rng, made),
    }


def _host_note(rng: Random, made: SampleBooking) -> str | None:
    if made.status == "ownerStay":
        return notes.WRITER.fill(rng, rng.choice(notes.OWNER_STAYS))
    if made.detail in (Detail.LEAN, Detail.USUAL, Detail.LONG):
        return " ".join(notes.WRITER.sentences(rng, notes.FROM_HOST, 2)) if rng.random() < 0.3 else None
    return notes.WRITER.text_of_length(rng, notes.FROM_HOST, 900 if made.detail is Detail.LONGEST else 600)


def _guest_note(rng: Random, made: SampleBooking) -> str | None:
    if made.detail in (Detail.LEAN, Detail.USUAL):
        return _short_guest_note(rng, made) if rng.random() < 0.33 else None
    length = {Detail.RICH: 1200, Detail.LONG: 420, Detail.LONGEST: 4300}[made.detail]
    return notes.WRITER.text_of_length(rng, notes.FROM_GUESTS, length)


def _short_guest_note(rng: Random, made: SampleBooking) -> str:
    bank = notes.IN_OTHER_LANGUAGES.get(made.guest.locale, notes.FROM_GUESTS)
    return " ".join(notes.WRITER.sentences(rng, bank, 2))


def _custom_fields(rng: Random, made: SampleBooking) -> list[Row]:
    fields = list(enumerate(notes.CUSTOM_FIELDS))
    if made.detail is Detail.LONGEST:
        chosen = fields
    elif made.detail is Detail.USUAL and rng.random() < 0.34:
        chosen = fields[: rng.randint(1, 2)]
    else:
        chosen = []
    return [_custom_field(rng, made, position, *field) for position, field in chosen]


def _custom_field(rng: Random, made: SampleBooking, position: int, name: str, values: tuple[str, ...]) -> Row:
    field_id, inserted = 74419 + position, stamp(made.inserted)
    return {
        "id": made.id * 20 + position,
        "customFieldId": field_id,
        "value": notes.WRITER.fill(rng, rng.choice(values)),
        "insertedOn": inserted,
        "updatedOn": inserted,
        "customField": {
            "id": field_id,
            "name": name,
            "possibleValues": None,
            "type": "text",
            "isPublic": 1,
            "insertedOn": "2024-02-05 10:00:00",
            "updatedOn": "2024-02-05 10:00:00",
        },
    }


def _card(rng: Random, made: SampleBooking) -> Row:
    """The payment. Cards are invented and masked, and the gateway must still withhold them."""
    customer = f"cus_{rng.getrandbits(64):016x}"
    ending, charged = f"{rng.randrange(10000):04d}", rng.random()
    row: Row = {
        "paymentStatus": rng.choice(("Paid", "Partially paid", "Unpaid", "Unknown")),
        "stripeGuestId": None if made.channel is AIRBNB and charged < 0.75 else customer,
    }
    if made.channel.name not in ("bookingcom", "bookingengine"):
        return row
    return row | {
        "ccName": made.guest.name,
        "ccNumber": f"************{ending}",
        "ccNumberEndingDigits": ending,
        "ccExpirationYear": "2029",
        "ccExpirationMonth": f"{1 + made.number % 12:02d}",
        "cvc": f"{rng.randrange(1000):03d}",
        "guestPaymentCardIsVirtual": int(made.channel.name == "bookingcom"),
    }


def _times(rng: Random, made: SampleBooking) -> Row:
    inserted = stamp(made.inserted)
    return {
        "reservationDate": inserted,
        "pendingExpireDate": stamp(made.inserted + timedelta(days=1)) if made.status in UNDECIDED else None,
        "insertedOn": inserted,
        "updatedOn": stamp(last_change(rng, made.inserted)),
        "latestActivityOn": stamp(last_change(rng, made.inserted)),
    }
