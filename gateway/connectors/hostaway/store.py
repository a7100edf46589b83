"""Writes upstream's objects into the store. An object replaces the stored one with the same id."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import contents_changed
from context_protection.core import tokens
from context_protection.core.long_texts import LONG_TEXT_CHARS
from context_protection.core.redaction import redact, redact_text
from context_protection.core.text_traits import chunk_sizes_of
from gateway.connectors.hostaway import originals, pieces, stored_plans, values
from gateway.connectors.hostaway.document_texts import DocumentText
from gateway.connectors.hostaway.encodings import Figures, File, decoded_again, read_file
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.models import (
    Booking,
    Document,
    DocumentContent,
    Listing,
    SyncState,
    Transaction,
    UpstreamObject,
)

BATCH = 1000
READ = "read_document"  # long texts are divided into chunks under the limits of this operation
Progress = Callable[[str, float], None]
M = TypeVar("M", bound=UpstreamObject)
# The id of an advisory lock, with which writers take turns (Postgres). Otherwise, transactions could commit in another
# order than that of their keys, and a row could appear below the watermark of a snapshot that has begun.
WRITERS_LOCK = 0x51C1CE


def save(table: FieldTable, objects: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """Stores the objects batch by batch, and yields how many are stored so far."""
    stored = 0
    source = iter(objects)
    while batch := [row_of(table, each) for each in islice(source, BATCH)]:
        write(table.model, list({row.id: row for row in batch}.values()))
        stored += len(batch)
        yield stored


def row_of(table: FieldTable, upstream: Mapping[str, Any]) -> UpstreamObject:
    """The row for an object: its secrets are masked in `data`, and encrypted in `sealed`. Raises KeyError, TypeError
    or ValueError if it has no numeric id."""
    clean, findings = redact(dict(upstream))
    data = orjson.dumps(clean).decode()
    return table.model(
        id=int(upstream["id"]),
        inserted_on=values.first_time(upstream, table.created) or datetime(1970, 1, 1, tzinfo=UTC),
        updated_on=values.first_time(upstream, table.updated),
        data=data,
        sealed=originals.sealed(upstream, findings),
        chars=len(data),
        field_count=len(clean),
        **table.column_values(clean),
    )


def write(model: type[UpstreamObject], rows: list[UpstreamObject]) -> None:
    """Writes the rows, in which each id may occur only once."""
    changing = [field.name for field in model._meta.concrete_fields if field.name not in {"seq", "id"}]
    with transaction.atomic():
        take_turns()
        model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=changing)
        contents_changed()


def take_turns() -> None:
    """Makes all other writers of objects wait until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [WRITERS_LOCK])


@dataclass(frozen=True)
class PreparedDocument:
    """A file that was read through. If it is a text, the text is stored already, and no document refers to it yet."""

    name: str
    title: str
    media_type: str
    file: File


def save_document(name: str, title: str, media_type: str, content: str | bytes | Path) -> None:
    """Stores a text or a file under its name, in place of any earlier one. Raises OSError, FileChanged."""
    place = content.encode() if isinstance(content, str) else content
    put_document(prepare_document(name, title, media_type, place))


def prepare_document(
    name: str, title: str, media_type: str | None, place: bytes | Path, progress: Progress = lambda what, share: None
) -> PreparedDocument:
    """Reads a file of any size in constant memory, and stores its text. For a long text, also makes the chunk plan
    under the current limits. `progress` is called with the current step and the share of it that is done. Raises
    OSError, FileChanged."""
    file = read_file(place)
    media_type = media_type or ("text/plain" if file.figures else "application/octet-stream")
    if (figures := file.figures) is not None:
        _store_text(file, figures, lambda chars: progress("stored", chars / max(figures.chars, 1)))
        text = DocumentText(name, media_type, figures.digest, figures.chars, max(1, figures.lines), figures.encoding)
        if figures.chars > LONG_TEXT_CHARS:
            chunk_sizes = chunk_sizes_of(text, policy_for(READ))
            stored_plans.make(text.version, chunk_sizes, lambda chars: progress("divided", chars / figures.chars))
    return PreparedDocument(name, title, media_type, file)


def _store_text(file: File, figures: Figures, progress: Callable[[int], None]) -> None:
    """A text without a document counts as unused from now on, so that it is purged only after the retention time."""
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
    """Stores the document, in place of any earlier one with its name."""
    figures, now = prepared.file.figures, timezone.now()
    columns = {
        "title": redact_text(prepared.title)[0],
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
    """Queues the chunk plans of all long texts under the current limits, before a client needs them."""
    policy = policy_for(READ)
    for document in Document.objects.filter(content__chars__gt=LONG_TEXT_CHARS).select_related("content"):
        text = DocumentText.of(document)
        stored_plans.order(text.version, chunk_sizes_of(text, policy))


def clear() -> None:
    """Empties the account. Texts stay until the cursors into them have expired."""
    with transaction.atomic():
        SyncState.objects.all().delete()  # so that the next sync starts from the beginning
        clear_objects()
        _remove_documents(Document.objects.all())


def clear_objects() -> None:
    for model in (Booking, Transaction, Listing):
        model._default_manager.all().delete()
    contents_changed()


def remove_documents(files: Mapping[str, str]) -> None:
    """`files` maps document ids to SHA-256. Removes each of these documents whose file still has this digest."""
    held = Document.objects.filter(id__in=files).values_list("id", "sha256")
    _remove_documents(Document.objects.filter(id__in=[name for name, digest in held if files[name] == digest]))


def _remove_documents(documents: QuerySet[Document]) -> None:
    documents.delete()
    _mark_unused(timezone.now())
    contents_changed()


def _mark_unused(now: datetime) -> None:
    DocumentContent.objects.filter(unused_since=None, documents=None).update(unused_since=now)


def purge_unused_contents(before: datetime) -> int:
    """Removes texts that no document has referred to since `before`; returns how many."""
    _, removed = DocumentContent.objects.filter(unused_since__lt=before, documents=None).delete()
    return removed.get(DocumentContent._meta.label, 0)
