"""Completes arguments with the account's values: ids, months, statuses, names of listings. No guest data.

Index lookups find the values, so that an account of a million bookings completes as fast as a small one. Names of
listings and documents are searched, as there are few.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from gateway.catalog.prompts import MAX_COUNTED, Complete
from gateway.connectors.hostaway.models import Booking, Document, Listing, Transaction, UpstreamObject

MOST = MAX_COUNTED + 1
_ID = re.compile("([1-9][0-9]*)?")

Typed = Mapping[str, str]  # the other arguments of the prompt


def booking_ids(text: str, typed: Typed) -> Sequence[str]:
    return _ids(Booking, text)


def listing_ids(text: str, typed: Typed) -> Sequence[str]:
    return _ids(Listing, text)


def transaction_ids(text: str, typed: Typed) -> Sequence[str]:
    return _ids(Transaction, text)


def document_ids(text: str, typed: Typed) -> Sequence[str]:
    documents = Document.objects.filter(id__startswith=text).order_by("id")
    return list(documents.values_list("id", flat=True)[:MOST])


def text_ids(text: str, typed: Typed) -> Sequence[str]:
    """Ids of the documents that are text."""
    documents = Document.objects.filter(id__startswith=text, content__isnull=False).order_by("id")
    return list(documents.values_list("id", flat=True)[:MOST])


def listings(text: str, typed: Typed) -> Sequence[str]:
    """Ids if digits were typed, else names: first those that begin with the typed text, then those that contain it."""
    if text.isdecimal():
        return listing_ids(text, typed)
    names = Listing.objects.filter(name__icontains=text).exclude(name="").order_by("name").distinct()
    found = names.values_list("name", flat=True)[:MOST]
    return sorted(found, key=lambda name: (not name.casefold().startswith(text.casefold()), name))


def months(text: str, typed: Typed) -> Sequence[str]:
    """Months in which guests arrive, the latest first."""
    return [month for month in _months() if month.startswith(text)]


def statuses(text: str, typed: Typed) -> Sequence[str]:
    return [status for status in _statuses() if status.lower().startswith(text.lower())]


IDENTIFIERS: Mapping[str, Complete] = {
    "get_listing": listing_ids,
    "get_booking": booking_ids,
    "get_transaction": transaction_ids,
    "read_document": document_ids,
}


def _ids(model: type[UpstreamObject], text: str) -> Sequence[str]:
    """Ids that begin with these digits, the highest first, as high ids are mostly the newest."""
    objects = model._default_manager.order_by("-id").values_list("id", flat=True)
    highest = objects.first()
    if highest is None or not _ID.fullmatch(text):
        return []
    found: list[int] = []
    for low, high in _ranges(text, len(str(highest))):
        found += objects.filter(id__range=(low, high))[: MOST - len(found)]
    return [str(each) for each in found]


def _ranges(digits: str, longest: int) -> Iterator[tuple[int, int]]:
    """Ranges of the numbers of at most `longest` digits that begin with `digits`, those with the most digits first."""
    if not digits:
        yield 1, 10**longest - 1
        return
    for more in range(longest - len(digits), -1, -1):
        yield int(digits) * 10**more, (int(digits) + 1) * 10**more - 1


def _months() -> Iterator[str]:
    """Needs one index lookup per month, however many bookings it has."""
    arrivals = Booking.objects.exclude(check_in=None).order_by("-check_in").values_list("check_in", flat=True)
    arrival = arrivals.first()
    for _ in range(MOST):
        if arrival is None:
            return
        month: date = arrival.replace(day=1)
        yield month.isoformat()[:7]
        arrival = arrivals.filter(check_in__lt=month).first()


def _statuses() -> Iterator[str]:
    """Needs one index lookup per status."""
    found = Booking.objects.exclude(status=None).order_by("status").values_list("status", flat=True)
    status = found.first()
    for _ in range(MOST):
        if status is None:
            return
        yield status
        status = found.filter(status__gt=status).first()
