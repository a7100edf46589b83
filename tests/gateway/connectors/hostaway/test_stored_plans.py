"""Long texts at every door: divided once, in the background, for all processes."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db.models import Model
from django.utils import timezone

from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.splitting.plans import IndexingProgress
from context_protection.core.text_traits import chunk_sizes_of
from context_protection.models import TokenBudget
from gateway.connectors.hostaway import store, stored_plans
from gateway.connectors.hostaway.document_texts import DocumentText
from gateway.connectors.hostaway.models import Document, DocumentContent, TextPiece, TextPlan, TextPlanBlock
from gateway.connectors.hostaway.tasks import make_plans
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db
PICTURE = b"\x89PNG\0\0"
NAME = "long.log"
# Longer than a window of the planner, so that a plan has more than one block.
LONG = "".join(f"2026-11-20T13:00:{n % 60:02} INFO line {n} né\n" for n in range(1, 28_001))
LINES = LONG.splitlines(keepends=True)


@dataclass(frozen=True)
class Stored:
    """A document as it was read, redacted and divided, and the rows of that."""

    prepared: store.PreparedDocument
    rows: list[list[Model]]

    @classmethod
    def of(cls, name: str, content: str) -> "Stored":
        prepared = store.prepare_document(name, "Long", "text/x-log", content.encode())
        digest = prepared.file.figures.digest if prepared.file.figures else ""
        plans = TextPlan.objects.filter(content=digest)
        rows = (
            DocumentContent.objects.filter(digest=digest),
            TextPiece.objects.filter(content=digest),
            plans,
            TextPlanBlock.objects.filter(plan__in=plans),
        )
        return cls(prepared, [list(each) for each in rows])

    def store_again(self) -> None:
        for rows in self.rows:
            type(rows[0])._default_manager.bulk_create(rows)


_stored: list[Stored] = []


@pytest.fixture
def long_document() -> Document:
    """It is read, redacted and divided once, which takes a second, and stored for each test."""
    if _stored:
        _stored[0].store_again()
    else:
        _stored.append(Stored.of(NAME, LONG))
    store.put_document(_stored[0].prepared)
    return Document.objects.select_related("content").get(id=NAME)


@pytest.fixture
def smaller_chunks() -> Iterator[None]:
    TokenBudget.objects.create(operation="read_document", chunk_size=100)
    revisions.bump()
    yield
    TokenBudget.objects.all().delete()
    revisions.bump()


def found(document: Document) -> stored_plans.StoredTextPlan | IndexingProgress:
    text = DocumentText.of(document)
    return text.plan(text.version, chunk_sizes_of(text, policy_for("read_document")))


def test_a_long_document_is_divided_when_it_is_loaded_and_read_by_its_chunks(long_document: Document, doors: Doors):
    first = doors.rest("read_document", {"id": NAME})
    assert (first["totalChunks"], first["metadata"]["totalLines"]) == (140, 28_000)
    chunks = [first]
    while len(chunks) < 5:
        chunks.append(doors.mcp("read_document", {"id": NAME, "cursor": chunks[-1]["nextCursor"]}))
    assert "".join(chunk["content"] for chunk in chunks) == "".join(LINES[:1000])


def test_lines_of_a_long_document_are_the_same_at_every_door(long_document: Document, doors: Doors):
    arguments = {"id": NAME, "startLine": 25_234, "endLine": 25_300}
    for door in (doors.rest, doors.mcp):
        answer = door("read_document", arguments)
        assert answer["content"] == "".join(LINES[25_233:25_300])
        assert answer["metadata"]["totalLines"] == 28_000


def test_when_ops_change_the_size_of_chunks_the_former_ones_serve_until_the_worker_is_done(
    long_document: Document, doors: Doors, smaller_chunks: None
):
    first = doors.rest("read_document", {"id": NAME})
    assert first["totalChunks"] == 140
    second = doors.mcp("read_document", {"id": NAME, "cursor": first["nextCursor"]})
    assert first["content"] + second["content"] == "".join(LINES[:400])
    assert make_plans() == 1
    assert doors.rest("read_document", {"id": NAME})["totalChunks"] == 280
    third = doors.rest("read_document", {"id": NAME, "cursor": second["nextCursor"]})
    assert third["content"] == "".join(LINES[400:600]), "a walk keeps the chunks with which it began"


@pytest.fixture
def lower_cap() -> Iterator[None]:
    TokenBudget.objects.create(operation="read_document", hard_cap=4000, token_budget_threshold=4000)
    revisions.bump()
    yield
    TokenBudget.objects.all().delete()
    revisions.bump()


def test_when_ops_lower_the_hard_cap_a_reader_is_told_to_wait_until_the_worker_is_done(
    long_document: Document, doors: Doors, lower_cap: None
):
    response = doors.response(f"/api/v1/documents/{NAME}")
    assert response.status_code == 503
    assert response.json()["error"]["reason"] == "indexing"
    assert int(response.headers["Retry-After"]) >= 1
    lines = doors.rest("read_document", {"id": NAME, "startLine": 7, "endLine": 9})
    assert lines["content"] == "".join(LINES[6:9])
    assert make_plans() == 1
    assert doors.rest("read_document", {"id": NAME})["totalChunks"] > 140


def test_a_walk_that_has_begun_keeps_its_chunks_when_their_size_changes(long_document: Document, doors: Doors):
    cursor = doors.rest("read_document", {"id": NAME})["nextCursor"]
    TokenBudget.objects.create(operation="read_document", chunk_size=100)
    revisions.bump()
    answer = doors.rest("read_document", {"id": NAME, "cursor": cursor})
    assert (answer["chunkIndex"], answer["totalChunks"], answer["metadata"]["endLine"]) == (1, 140, 400)


def test_the_sweep_divides_long_documents_anew_before_anybody_asks(
    long_document: Document, doors: Doors, smaller_chunks: None
):
    assert make_plans() == 1
    assert make_plans() == 0
    assert doors.rest("read_document", {"id": NAME})["totalChunks"] == 280


def test_a_plan_has_one_maker_at_a_time_and_another_one_when_that_is_silent(long_document: Document):
    TextPlan.objects.update(chunks=None, alive_at=timezone.now(), maker="another")
    assert stored_plans.make_ordered() == 0
    assert not stored_plans._claim(TextPlan.objects.get())
    TextPlan.objects.update(alive_at=timezone.now() - 2 * stored_plans.SILENCE)
    assert stored_plans.make_ordered() == 1
    assert TextPlan.objects.get().chunks == 140


def test_a_maker_that_was_given_up_stops(long_document: Document):
    row = TextPlan.objects.get()
    TextPlan.objects.update(chunks=None, alive_at=None)
    row.refresh_from_db()
    assert stored_plans._claim(row)
    TextPlan.objects.update(maker="another")
    assert list(stored_plans._build(row)) == []
    assert not TextPlanBlock.objects.exists()
    assert TextPlan.objects.get().chunks is None


def test_how_long_it_takes_is_told_by_how_fast_it_goes(long_document: Document):
    now = timezone.now()
    chars = len(LONG)
    TextPlan.objects.update(
        chunks=None, begun_at=now - timedelta(seconds=10), alive_at=now, done_chars=chars // 4, maker="another"
    )
    unfinished = found(long_document)
    assert isinstance(unfinished, IndexingProgress)
    assert (round(unfinished.done, 2), unfinished.seconds) == (0.25, 30)


def test_a_document_that_has_grown_is_a_new_version_and_walks_over_the_old_one_go_on(
    long_document: Document, doors: Doors
):
    first = doors.rest("read_document", {"id": NAME})
    store.save_document(NAME, "Long", "text/x-log", LONG + LINES[0] * 1000)
    assert doors.rest("read_document", {"id": NAME})["totalChunks"] == 145
    answer = doors.rest("read_document", {"id": NAME, "cursor": first["nextCursor"]})
    assert (answer["totalChunks"], answer["metadata"]["totalLines"]) == (140, 28_000)
    assert answer["content"] == "".join(LINES[200:400])


def test_a_text_that_was_purged_has_taken_its_plan_along_and_its_cursors_have_expired(
    long_document: Document, doors: Doors
):
    cursor = doors.rest("read_document", {"id": NAME})["nextCursor"]
    store.save_document(NAME, "Long", "text/x-log", "short\n")
    store.purge_unused_contents(timezone.now() + timedelta(hours=1))
    assert not TextPlan.objects.exists()
    assert not DocumentContent.objects.filter(digest=long_document.content_id).exists()
    answer = doors.rest("read_document", {"id": NAME, "cursor": cursor})
    assert answer["error"]["reason"] == "cursor_expired"


def test_plans_of_limits_long_out_of_force_are_removed(long_document: Document):
    newest = [stored_plans.order(long_document.content_id or "", _other_cutting(n)).pk for n in range(5)]
    assert stored_plans.purge_old() == 2
    assert sorted(TextPlan.objects.values_list("pk", flat=True)) == newest[1:]


def _other_cutting(lines: int) -> stored_plans.ChunkSizes:
    return stored_plans.ChunkSizes(stored_plans.TextForm.LOG, lines + 1, 2, 3, 4)


def test_a_binary_is_answered_with_its_facts_at_every_door(doors: Doors):
    store.save_document("pool.png", "Pool", "image/png", PICTURE)
    for door in (doors.rest, doors.mcp):
        answer = door("read_document", {"id": "pool.png"})
        assert crawler.own(answer) == {
            "id": "pool.png",
            "title": "Pool",
            "mediaType": "image/png",
            "bytes": 6,
            "sha256": hashlib.sha256(PICTURE).hexdigest(),
            "binary": True,
        }
    listed = {row["id"]: row for row in crawler.walk(doors.rest, "list_documents", {})}
    assert (listed["pool.png"]["encoding"], listed["pool.png"]["lines"]) == (None, None)
    assert listed["house-manual.md"]["encoding"] == "utf-8"


def test_an_encoding_is_told_in_lists_and_with_the_text(doors: Doors):
    store.save_document("a.txt", "A", "text/plain", "Le garçon a mangé du gâteau à Noël.\n".encode("cp1252") * 3)
    answer = doors.rest("read_document", {"id": "a.txt"})
    assert answer["content"] == "Le garçon a mangé du gâteau à Noël.\n" * 3
    assert answer["metadata"]["encoding"] == "cp1252"
    listed = {row["id"]: row for row in crawler.walk(doors.rest, "list_documents", {})}
    assert listed["a.txt"]["encoding"] == "cp1252"
