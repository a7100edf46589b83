"""Texts in pieces: any range of them is what it would be of the whole."""

import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.connectors.hostaway import pieces, store
from gateway.connectors.hostaway.encodings import File, FileChanged, read_file
from gateway.connectors.hostaway.models import Document, DocumentContent, TextPiece
from tests.properties.desk import MemoryText

pytestmark = pytest.mark.django_db
TEXT = "".join(f"{n}: né 😀 line\r\n" for n in range(40_000)) + "x" * 300_000 + "\n\n" + "the end"
LINES = TEXT.split("\n")


@pytest.fixture
def digest() -> str:
    store.save_document("a.txt", "A", "text/plain", TEXT)
    return Document.objects.get(id="a.txt").content_id or ""


def test_a_text_is_kept_in_several_pieces(digest: str):
    assert TextPiece.objects.filter(content_id=digest).count() == len(TEXT) // pieces.CHARS + 1 > 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(TEXT) + 10), st.integers(0, 200_000))
def test_any_range_is_that_of_the_whole(digest: str, start: int, length: int):
    assert pieces.read(digest, start, start + length) == TEXT[start : start + length]


@pytest.mark.parametrize("at", [pieces.CHARS - 1, pieces.CHARS, pieces.CHARS + 1, len(TEXT) - 1, len(TEXT)])
def test_a_range_at_the_edge_of_a_piece_is_that_of_the_whole(digest: str, at: int):
    for end in (at, at + 1, at + 2, at + pieces.CHARS):
        assert pieces.read(digest, at, end) == TEXT[at:end]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, len(LINES) + 2))
def test_any_line_begins_where_it_does(digest: str, line: int):
    assert pieces.line_start(digest, line) == MemoryText(TEXT).line_start("", line)


def test_the_last_lines_begin_where_they_do(digest: str):
    for line in range(len(LINES) - 5, len(LINES) + 3):
        assert pieces.line_start(digest, line) == MemoryText(TEXT).line_start("", line)


@pytest.mark.parametrize("text", ["", "a", "\n", "a\n", "a\nb", "\n\n"])
def test_short_texts_have_their_lines_too(text: str):
    store.save_document("s.txt", "S", "text/plain", text)
    digest = Document.objects.get(id="s.txt").content_id or ""
    assert pieces.read(digest, 0, 10) == text
    for line in range(1, 5):
        assert pieces.line_start(digest, line) == MemoryText(text).line_start("", line)


def test_a_search_gets_whole_lines_and_is_told_where_they_are(digest: str):
    found = list(pieces.in_whole_lines(digest))
    assert "".join(piece.text for piece in found) == TEXT
    for piece in found:
        assert TEXT.startswith(piece.text, piece.start)
        assert piece.line == TEXT.count("\n", 0, piece.start) + 1
        assert piece.text.endswith("\n") or piece is found[-1]


def test_an_endless_line_is_handed_out_in_parts():
    store.save_document("long.txt", "L", "text/plain", "x" * 3_000_000)
    found = list(pieces.in_whole_lines(Document.objects.get(id="long.txt").content_id or ""))
    assert max(len(piece.text) for piece in found) < 3_000_000
    assert {piece.line for piece in found} == {1}
    assert sum(len(piece.text) for piece in found) == 3_000_000


def test_what_is_gone_is_said_to_be_gone():
    assert pieces.read("0" * 64, 0, 10) is None
    assert list(pieces.in_whole_lines("0" * 64)) == []


def test_a_load_that_was_interrupted_is_completed_by_the_next(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT, newline="")
    file = read_file(path)
    assert file.figures is not None
    DocumentContent.objects.create(digest=file.figures.digest, chars=0, lines=0, bytes=0)
    for number in (0, 1, 99):
        TextPiece.objects.create(
            content_id=file.figures.digest, number=number, first_line=7, data=zlib.compress(b"of another file")
        )
    assert pieces.read(file.figures.digest, 10**7, 10**7 + 1) is None
    store.save_document("a.txt", "A", "text/plain", path)
    assert "".join(pieces.parts(file.figures.digest)) == TEXT
    assert not TextPiece.objects.filter(content_id=file.figures.digest, number=99).exists()


def test_a_file_that_changes_while_it_is_stored_leaves_nothing_that_could_be_read(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    file = read_file(path)
    path.write_text("two\n")
    assert file.figures is not None
    with pytest.raises(FileChanged):
        _store_again(file)
    assert not DocumentContent.objects.filter(digest=file.figures.digest, is_loaded=True).exists()


def _store_again(file: File) -> None:
    from gateway.connectors.hostaway.encodings import decoded_again

    assert file.figures is not None
    DocumentContent.objects.create(digest=file.figures.digest, chars=4, lines=1, bytes=4)
    list(pieces.write(file.figures.digest, decoded_again(file, file.figures)))
