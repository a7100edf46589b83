"""Texts that stood whole in a row are found in pieces after the upgrade, and whole again after it was undone."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from gateway.connectors.hostaway import pieces
from gateway.connectors.hostaway.models import Document

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE, AFTER = ("hostaway", "0001_initial"), ("hostaway", "0004_remove_text")
LATEST = ("hostaway", "0005_live_account")
TEXTS = {"empty.txt": "", "short.md": "# né\n\n😀", "long.log": "one line\n" * 30_000}


@pytest.fixture
def at_before() -> Iterator[Any]:
    executor = MigrationExecutor(connection)
    executor.migrate([BEFORE])
    yield executor.loader.project_state([BEFORE]).apps
    migrated(LATEST)


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
