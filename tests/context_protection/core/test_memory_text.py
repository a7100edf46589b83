"""A text in memory is read as one in the database is: whole lines, any range, chunks that put together are the text."""

import gc
import weakref

import pytest

from context_protection.core import memory_text, text_traits
from context_protection.core.cache_budget import Cache, CacheBudget
from context_protection.core.memory_text import CHUNK_BYTES, PLAN_BYTES, MemoryText
from context_protection.core.policy import DEFAULTS
from context_protection.core.splitting.plans import ChunkSizes

LONG = "".join(f"Line {number} of a text that is rather long.\n" for number in range(60_000))


def cutting_of(text: MemoryText) -> ChunkSizes:
    return text_traits.chunk_sizes_of(text, DEFAULTS)


@pytest.mark.parametrize(
    ("content", "lines"), [("", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2), ("\n", 1), ("a\r\nb\r\n", 2)]
)
def test_lines_are_counted_as_chunks_count_them(content: str, lines: int):
    assert MemoryText(content).lines == lines


def test_a_line_begins_behind_the_one_before():
    text = MemoryText("one\ntwo\nthree")
    assert [text.line_start(text.version, line) for line in (1, 2, 3, 4, 99)] == [0, 4, 8, 13, 13]


def test_another_version_is_never_read():
    text = MemoryText("one")
    assert text.at(text.version) is text
    assert text.at("other") is None
    assert text.read("other", 0, 1) is None
    assert list(text.pieces("other")) == []


@pytest.mark.parametrize("content", [LONG, "x" * 3_000_000, "short", "", LONG + "x" * 2_500_000 + "\n" + LONG])
def test_pieces_are_the_text_and_begin_where_they_say(content: str):
    text = MemoryText(content)
    pieces = list(text.pieces(text.version))
    assert "".join(piece.text for piece in pieces) == content
    for piece in pieces:
        assert content[piece.start :].startswith(piece.text[:100])
        assert piece.line == content.count("\n", 0, piece.start) + 1


def test_pieces_begin_at_the_line_that_is_asked_for():
    text = MemoryText(LONG)
    first = next(text.pieces(text.version, 1000))
    assert (first.line, first.text[:9]) == (1000, "Line 999 ")


def test_the_chunks_of_a_long_text_are_the_text():
    text = MemoryText(LONG)
    plan = text.plan(text.version, cutting_of(text))
    parts = []
    for chunk in range(plan.chunks):
        first, block = plan.block_of(chunk)
        start, end = block.span(chunk - first)
        assert plan.block_at(start) == (first, block)
        parts.append(LONG[start:end])
    assert len(plan.blocks) > 1
    assert "".join(parts) == LONG


def test_the_plan_of_a_text_is_looked_for_once():
    text, same = MemoryText(LONG), MemoryText(LONG)
    assert text.plan(text.version, cutting_of(text)) is same.plan(same.version, cutting_of(same))


def test_what_is_remembered_of_a_text_does_not_hold_it():
    for content in (LONG, "Some words. " * 500):
        text = MemoryText(content)
        text.plan(text.version, cutting_of(text))
        held = weakref.ref(text)
        del text
        gc.collect()
        assert held() is None


def test_no_more_plans_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory_text, "_plans", Cache("chunk plans", CacheBudget(2 * (PLAN_BYTES + 2 * CHUNK_BYTES))))
    for number in range(4):
        text = MemoryText(f"{number} words.\n" * 50)
        assert text.plan(text.version, cutting_of(text)).chunks == 1
    assert len(memory_text._plans) == 2
