"""What a file's bytes are: text in some encoding, or no text."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connectors.hostaway.encodings import BLOCK, FileChanged, decoded_again, read_file

FRENCH = "Le garçon a mangé du gâteau à Noël. Ça coûte 10 € à l’hôtel.\n"


def text_of(content: bytes) -> str | None:
    file = read_file(content)
    return None if file.figures is None else "".join(decoded_again(file, file.figures))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_utf_8_is_read_as_it_is_and_its_figures_are_the_texts(text: str):
    content = text.encode()
    file = read_file(content)
    assert file.figures is not None
    assert text_of(content) == text
    assert (file.figures.encoding, file.figures.chars, file.figures.bytes) == ("utf-8", len(text), len(content))
    assert file.figures.lines == len(text.split("\n")) - (not text or text.endswith("\n"))
    assert file.figures.digest == file.sha256 == hashlib.sha256(content).hexdigest()


def test_a_byte_order_mark_of_utf_8_stays_so_that_nothing_is_lost():
    assert text_of(b"\xef\xbb\xbfone\n") == "\ufeffone\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_of_another_unicode_is_heeded_and_gone(encoding: str):
    text = FRENCH + "😀\n"
    for order in ("le", "be"):
        content = "\ufeff".encode(f"{encoding}-{order}") + text.encode(f"{encoding}-{order}")
        assert text_of(content) == text
        figures = read_file(content).figures
        assert figures is not None
        assert figures.encoding == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        ("La habitación está limpia. El niño duerme mañana.\n" * 10, "latin-1"),
        ("2026-11-20 10:00:00 INFO guest Müller checked in at Zürich\n" * 50, "latin-1"),
        ("Ключ лежит в коробке у двери. Дом большой и светлый, сад тихий.\n" * 20, "koi8-r"),
        ("Ключ лежит в коробке у двери. Дом большой и светлый, сад тихий.\n" * 20, "cp1251"),
        ("庭にはプールがありますか？鍵は玄関の横の箱にあります。静かな部屋です。\n" * 30, "cp932"),
        ("这所房子有一个带游泳池的大花园。请在晚上十点以后保持安静。\n" * 3, "gb18030"),
        ("這所房子有一個帶游泳池的大花園。\n" * 10, "big5"),
        ("정원에 수영장이 있습니까? 열쇠는 현관 옆 상자에 있습니다.\n" * 10, "cp949"),
        ("Το σπίτι είναι μεγάλο και ο κήπος ήσυχος.\n" * 10, "cp1253"),
        ("Dům je velký a zahrada tichá. Klíč leží ve skříňce u dveří.\n" * 10, "cp1250"),
    ],
)
def test_other_encodings_are_found_by_how_they_look(text: str, encoding: str):
    assert text_of(text.encode(encoding)) == text


def test_an_encoding_is_found_where_it_first_shows():
    text = "2026-11-20 10:00:00 INFO plain line\n" * 40_000 + FRENCH * 3
    assert text_of(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    "content", [b"a\0b", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xfea", bytes(range(1, 256)) * 40]
)
def test_what_is_no_text_is_known_as_such(content: bytes):
    file = read_file(content)
    assert file.figures is None
    assert file.sha256 == hashlib.sha256(content).hexdigest()


def test_a_nul_far_behind_makes_a_file_no_text():
    assert text_of(b"one\n" * BLOCK + b"\0") is None


def test_a_character_is_not_lost_between_two_blocks():
    text = "x" * (BLOCK - 1) + "é😀" + "y" * BLOCK
    assert text_of(text.encode()) == text


def test_what_is_appended_while_a_file_is_read_is_not_seen(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    file = read_file(path)
    path.write_text("one\ntwo\n")
    assert file.figures is not None
    assert "".join(decoded_again(file, file.figures)) == "one\n"


@pytest.mark.parametrize("content", [b"two\n", b"t\xff\xff\n", b""])
def test_a_file_that_is_another_one_by_now_is_noticed(tmp_path: Path, content: bytes):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    file = read_file(path)
    path.write_bytes(content)
    assert file.figures is not None
    with pytest.raises(FileChanged):
        list(decoded_again(file, file.figures))
