"""Upstream has no status "confirmed": confirmed bookings are `new`, or `modified` if they have changed since."""

CONFIRMED = "confirmed"
SOURCES_OF_CONFIRMED = ("new", "modified")

UPSTREAM = (
    "new", "modified", "cancelled", "ownerStay", "pending", "awaitingPayment", "declined", "expired", "unconfirmed",
    "awaitingGuestVerification", "inquiry", "inquiryPreapproved", "inquiryDenied", "inquiryTimedout",
    "inquiryNotPossible", "unknown",
)  # fmt: skip


def canonical_status(source: str | None) -> str | None:
    return CONFIRMED if source in SOURCES_OF_CONFIRMED else source


CANONICAL = tuple(dict.fromkeys(canonical_status(status) or "" for status in UPSTREAM))
