"""Writes upstream's objects into the store; the same object again replaces the one that stands."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from django.db import connection, transaction
from django.utils import timezone

from context_protection import tokens
from context_protection.policies import policy_for
from context_protection.revisions import contents_changed
from context_protection.shapes import Shape
from context_protection.texts import AT_ONCE, whole_cutting
from gateway.connectors.hostaway import kept_plans, pieces, shapes
from gateway.connectors.hostaway.decoding import Figures, File, decoded_again, look_at
from gateway.connectors.hostaway.documents import StoredText
from gateway.connectors.hostaway.models import (
    Booking,
    Document,
    DocumentContent,
    Listing,
    Transaction,
    UpstreamObject,
)
from gateway.connectors.hostaway.statuses import canonical_status

BATCH = 1000
CODE_CHARS = 100
READ = "read_document"  # the operation whose limits long texts are planned under
Progress = Callable[[str, float], None]
M = TypeVar("M", bound=UpstreamObject)
# Writers take turns (Postgres): were keys given to transactions that commit in another order, a row could
# appear below the watermark of a walk that has begun.
WRITERS_LOCK = 0x51C1CE


@dataclass(frozen=True)
class Mapped:
    """How one type of upstream object becomes a row."""

    model: type[UpstreamObject]
    shape: Shape
    columns: Callable[[Mapping[str, Any]], dict[str, Any]]


LISTINGS = Mapped(
    Listing,
    shapes.LISTING,
    lambda o: {
        "name": _text(o.get("name")) or "",
        "status": _code(o.get("specialStatus")),
        "city": _text(o.get("city")),
        "country": _text(o.get("country")),
        "bedrooms": _float(o.get("bedroomsNumber")),
        "bathrooms": _float(o.get("bathroomsNumber")),
        "max_guests": _int(o.get("personCapacity")),
        "price": _decimal(o.get("price")),
        "currency": _code(o.get("currencyCode")),
    },
)
BOOKINGS = Mapped(
    Booking,
    shapes.BOOKING,
    lambda o: {
        "status": _code(canonical_status(o.get("status"))),
        "source_status": _code(o.get("status")),
        "guest_name": _text(o.get("guestName")),
        "check_in": _date(o.get("arrivalDate")),
        "check_out": _date(o.get("departureDate")),
        "nights": _int(o.get("nights")),
        "guests": _int(o.get("numberOfGuests")),
        "total_price": _decimal(o.get("totalPrice")),
        "currency": _code(o.get("currency")),
        "property_id": _int(o.get("listingMapId")),
        "channel": _code(o.get("channelName")),
    },
)
TRANSACTIONS = Mapped(
    Transaction,
    shapes.TRANSACTION,
    lambda o: {
        "type": _code(o.get("type")),
        "status": _code(o.get("status")),
        "amount": _decimal(o.get("amount")),
        "currency": _code(o.get("currency")),
        "booking_id": _int(o.get("reservationId")),
        "property_id": _int(o.get("listingMapId")),
    },
)


def save(mapped: Mapped, objects: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """Stores the objects batch by batch, and yields how many are stored so far."""
    stored = 0
    source = iter(objects)
    while batch := [_row(mapped, each) for each in islice(source, BATCH)]:
        _write(mapped.model, list({row.id: row for row in batch}.values()))
        stored += len(batch)
        yield stored


def _row(mapped: Mapped, upstream: Mapping[str, Any]) -> UpstreamObject:
    data = orjson.dumps(upstream).decode()
    return mapped.model(
        id=int(upstream["id"]),
        inserted_on=_time(upstream.get("insertedOn")) or datetime(1970, 1, 1, tzinfo=UTC),
        data=data,
        chars=len(data),
        field_count=len(mapped.shape.without_withheld(dict(upstream))[0]),
        **mapped.columns(upstream),
    )


def _write(model: type[UpstreamObject], rows: list[UpstreamObject]) -> None:
    changing = [field.name for field in model._meta.concrete_fields if field.name not in {"seq", "id"}]
    with transaction.atomic():
        _take_turns()
        model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=changing)
        contents_changed()


def _take_turns() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [WRITERS_LOCK])


@dataclass(frozen=True)
class PreparedDocument:
    """A file that was looked at; its text, if it is one, is stored, and waits for the document that has it."""

    name: str
    title: str
    media_type: str
    file: File


def save_document(name: str, title: str, media_type: str, content: str | bytes | Path) -> None:
    """Stores a text or a file under its name, in the place of what stood there. Raises OSError, FileChanged."""
    place = content.encode() if isinstance(content, str) else content
    put_document(prepare_document(name, title, media_type, place))


def prepare_document(
    name: str, title: str, media_type: str | None, place: bytes | Path, progress: Progress = lambda what, share: None
) -> PreparedDocument:
    """Reads a file, of any size at constant memory, and stores its text; a long one is planned under the limits in
    force. `progress` hears what is being done, and its share. Raises OSError, FileChanged."""
    file = look_at(place)
    media_type = media_type or ("text/plain" if file.figures else "application/octet-stream")
    if (figures := file.figures) is not None:
        _store_text(file, figures, lambda chars: progress("stored", chars / max(figures.chars, 1)))
        text = StoredText(name, media_type, figures.digest, figures.chars, max(1, figures.lines), figures.encoding)
        if figures.chars > AT_ONCE:
            cutting = whole_cutting(text, policy_for(READ))
            kept_plans.make(text.version, cutting, lambda chars: progress("divided", chars / figures.chars))
    return PreparedDocument(name, title, media_type, file)


def _store_text(file: File, figures: Figures, progress: Callable[[int], None]) -> None:
    """A text that no document has yet is kept for as long as one that no document has any more."""
    content, _ = DocumentContent.objects.get_or_create(
        digest=figures.digest,
        defaults={
            "chars": figures.chars,
            "lines": figures.lines,
            "bytes": figures.bytes,
            "unused_since": timezone.now(),
        },
    )
    DocumentContent.objects.filter(digest=content.digest).exclude(unused_since=None).update(unused_since=timezone.now())
    if not content.is_loaded:
        for chars in pieces.write(content.digest, decoded_again(file, figures)):
            progress(chars)


def put_document(prepared: PreparedDocument) -> None:
    """The document takes the place of what stood under its name."""
    figures, now = prepared.file.figures, timezone.now()
    columns = {
        "title": prepared.title,
        "media_type": prepared.media_type,
        "encoding": figures.encoding if figures else None,
        "sha256": prepared.file.sha256,
        "bytes": prepared.file.source.size,
        "content_id": figures.digest if figures else None,
        "lines": figures.lines if figures else None,
        "estimated_tokens": tokens.formula_of_length(figures.chars) if figures else None,
        "updated_on": now,
    }
    with transaction.atomic():
        if figures:
            DocumentContent.objects.filter(digest=figures.digest).update(unused_since=None)
        Document.objects.update_or_create(
            id=prepared.name, defaults=columns, create_defaults={**columns, "inserted_on": now}
        )
        _mark_unused(now)
        contents_changed()


def order_plans() -> None:
    """Orders the plans of all long texts under the limits in force, before anybody asks for them."""
    policy = policy_for(READ)
    for document in Document.objects.filter(content__chars__gt=AT_ONCE).select_related("content"):
        text = StoredText.of(document)
        kept_plans.order(text.version, whole_cutting(text, policy))


def clear() -> None:
    """Empties the account. Texts stay until the cursors into them have expired."""
    for model in (Booking, Transaction, Listing, Document):
        model._default_manager.all().delete()
    _mark_unused(timezone.now())
    contents_changed()


def _mark_unused(now: datetime) -> None:
    DocumentContent.objects.filter(unused_since=None, documents=None).update(unused_since=now)


def purge_unused_contents(before: datetime) -> int:
    """Removes texts that no document has had since `before`; returns how many."""
    _, removed = DocumentContent.objects.filter(unused_since__lt=before, documents=None).delete()
    return removed.get(DocumentContent._meta.label, 0)


# -- Upstream's values, leniently: what cannot be read as a column is still whole in `data` -----------------


def _text(value: Any) -> str | None:
    return None if value is None else str(value).replace("\0", "\ufffd")


def _code(value: Any) -> str | None:
    """A word such as a status; one too long to be a word is visibly cut."""
    text = _text(value)
    return text if text is None or len(text) <= CODE_CHARS else f"{text[: CODE_CHARS - 1]}…"


def _int(value: Any) -> int | None:
    try:
        number = int(value) if isinstance(value, (int, str)) else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < 2**63 else None


def _float(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _decimal(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except (InvalidOperation, TypeError):
        return None
    return number.quantize(Decimal("0.0001")) if number.is_finite() and abs(number) < Decimal(10) ** 14 else None


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _time(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
