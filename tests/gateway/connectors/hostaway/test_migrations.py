"""Texts that stood whole in a row are found in pieces after the upgrade, and whole again after it was undone."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from context_protection.core.redaction import Visibility, redact_text
from gateway.connectors.hostaway import originals, pieces
from gateway.connectors.hostaway.models import Booking, Document, DocumentContent, WebhookEvent

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE, AFTER = ("hostaway", "0001_initial"), ("hostaway", "0004_remove_text")
TEXTS = {"empty.txt": "", "short.md": "# né\n\n😀", "long.log": "one line\n" * 30_000}


@pytest.fixture
def at_before() -> Iterator[Any]:
    executor = MigrationExecutor(connection)
    executor.migrate([BEFORE])
    yield executor.loader.project_state([BEFORE]).apps
    migrated_to_the_latest()


def migrated_to_the_latest() -> None:
    (latest,) = MigrationExecutor(connection).loader.graph.leaf_nodes("hostaway")
    migrated(latest)


def migrated(target: tuple[str, str]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate([target])
    return executor.loader.project_state([target]).apps


def test_texts_are_moved_into_pieces_and_back(at_before: Any):
    contents, documents = (at_before.get_model("hostaway", name) for name in ("DocumentContent", "Document"))
    for name, text in TEXTS.items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        contents.objects.create(digest=digest, text=text)
        documents.objects.create(
            id=name,
            title=name,
            media_type="text/plain",
            content_id=digest,
            lines=len(text.splitlines()),
            bytes=len(text.encode()),
            estimated_tokens=1,
            inserted_on=timezone.now(),
            updated_on=timezone.now(),
        )
    migrated(AFTER)
    for name, text in TEXTS.items():
        document = Document.objects.select_related("content").get(id=name)
        assert document.content is not None
        assert "".join(pieces.parts(document.content.digest)) == text
        assert pieces.read(document.content.digest, 0, 5) == text[:5]
        assert pieces.line_start(document.content.digest, 3) == len("".join(text.splitlines(keepends=True)[:2]))
        assert (document.content.chars, document.content.bytes) == (len(text), len(text.encode()))
        assert document.content.lines == document.lines == len(text.splitlines())
        assert (document.encoding, document.sha256) == ("utf-8", document.content.digest)
    contents = migrated(BEFORE).get_model("hostaway", "DocumentContent")
    assert set(TEXTS.values()) <= set(contents.objects.values_list("text", flat=True))


UNMASKED = ("hostaway", "0006_secrets_are_masked")
CLEAR = {"id": 7, "doorCode": "Zx4711q", "guestName": "Ada", "hostNote": "Gate code: Zx4712q. Be quiet."}
MANUAL = "Manual\n\nThe door code is Zx4713q.\n"


@pytest.fixture
def before_masking() -> Iterator[Any]:
    executor = MigrationExecutor(connection)
    executor.migrate([UNMASKED])
    yield executor.loader.project_state([UNMASKED]).apps
    migrated_to_the_latest()


def test_what_was_stored_in_clear_is_masked_and_sealed(before_masking: Any):
    models = {name: before_masking.get_model("hostaway", name) for name in ("Booking", "DocumentContent", "Document")}
    models |= {name: before_masking.get_model("hostaway", name) for name in ("TextPiece", "WebhookEvent")}
    now, data = timezone.now(), orjson.dumps(CLEAR).decode()
    models["Booking"].objects.all().delete()
    models["Booking"].objects.create(id=7, inserted_on=now, data=data, chars=len(data), field_count=4)
    digest = hashlib.sha256(MANUAL.encode()).hexdigest()
    figures = {"chars": len(MANUAL), "lines": 3, "bytes": len(MANUAL.encode())}
    models["DocumentContent"].objects.create(digest=digest, is_loaded=True, **figures)
    piece = zlib.compress(MANUAL.encode())
    models["TextPiece"].objects.create(content_id=digest, number=0, first_line=1, data=piece)
    moments = {"inserted_on": now, "updated_on": now}
    models["Document"].objects.create(
        id="manual.txt", title="The door code is Zx4714q.", media_type="text/plain", sha256=digest, bytes=9,
        content_id=digest, lines=3, estimated_tokens=1, **moments,
    )  # fmt: skip
    models["WebhookEvent"].objects.create(digest="d", event="e", body=data, received_at=now)
    migrated_to_the_latest()

    booking = Booking.objects.get(id=7)
    assert "Zx47" not in booking.data + booking.sealed
    assert orjson.loads(booking.data)["doorCode"] == "[withheld: door code]"
    assert booking.chars == len(booking.data)
    revealed = originals.restored(booking.data, booking.sealed, Visibility(frozenset({"doorCode"})))
    assert revealed["doorCode"] == "Zx4711q"
    assert "Zx4712q" not in revealed["hostNote"]
    document = Document.objects.select_related("content").get(id="manual.txt")
    assert document.title == "The door code is [withheld: door code]."
    assert document.content is not None
    assert "".join(pieces.parts(document.content.digest)) == redact_text(MANUAL)[0]
    assert not DocumentContent.objects.filter(digest=digest).exists()
    assert b"Zx47" not in orjson.dumps(list(WebhookEvent.objects.values_list("body", flat=True)))
