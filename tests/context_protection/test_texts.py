"""A text: whole while it is short, in chunks on its own boundaries, or the lines asked for (FR-020 to FR-023)."""

from dataclasses import dataclass
from typing import Any

import pytest

from context_protection import tokens
from context_protection.errors import InvalidArgument, InvalidCursor
from context_protection.policy import Policy
from tests import crawler
from tests.properties.desk import Desk, MemoryText

SENTENCE = "The kitchen has an induction hob and a kettle. "
LOG = "".join(f"2026-11-20T13:00:{n % 60:02} INFO line {n}\n" for n in range(1, 1001))


def prose(least_tokens: int) -> str:
    """A text of at least so many tokens of the formula, and one sentence's at most above it."""
    count = 1
    while tokens.formula(SENTENCE * count) < least_tokens:
        count += 1
    return SENTENCE * count


def desk(content: str, name: str = "a.txt", **settings: Any) -> Desk:
    return Desk(text=MemoryText(content, name=name), policy=Policy(**settings))


def test_a_text_of_up_to_the_budget_comes_whole_and_a_longer_one_in_chunks():
    text = prose(2000)
    size = tokens.formula(text)
    assert desk(text, chunk_tokens=size)("read", {})["totalChunks"] == 1
    assert desk(text, chunk_tokens=size - 1)("read", {})["totalChunks"] > 1


def test_with_chunking_off_a_text_is_divided_by_the_cap_alone():
    text = prose(9000)
    asked = desk(text, chunking=False)
    chunks = list(crawler.pages(asked, "read", {}))
    assert len(chunks) < len(list(crawler.pages(desk(text), "read", {}))) / 2
    assert "".join(chunk["content"] for chunk in chunks) == text
    asked.assert_never_over_the_cap()


def test_the_last_chunk_has_no_cursor_and_all_agree_on_how_many_there_are():
    chunks = list(crawler.pages(desk(LOG, "a.log"), "read", {}))
    assert [chunk["chunkIndex"] for chunk in chunks] == [0, 1, 2, 3, 4]
    assert {chunk["totalChunks"] for chunk in chunks} == {5}
    assert ["nextCursor" in chunk for chunk in chunks] == [True] * 4 + [False]
    assert [chunk["metadata"]["startLine"] for chunk in chunks] == [1, 201, 401, 601, 801]


def test_the_same_cursor_gives_the_same_chunk_again():
    asked = desk(LOG, "a.log")
    cursor = asked("read", {})["nextCursor"]
    one, other = (asked("read", {"cursor": cursor}) for _ in range(2))
    assert one["content"] == other["content"]
    assert one["metadata"]["startLine"] == 201


def test_lines_that_are_asked_for_come_together_where_the_cap_holds_them():
    answer = desk(LOG, "a.log")("read", {"startLine": 100, "endLine": 400})
    assert answer["content"] == "".join(LOG.splitlines(keepends=True)[99:400])
    assert (answer["metadata"]["startLine"], answer["metadata"]["endLine"]) == (100, 400)
    assert answer["metadata"]["totalLines"] == 1000


def test_a_range_over_the_cap_comes_in_chunks_numbered_by_the_whole_text():
    asked = desk(LOG, "a.log", hard_cap=2000, token_budget_threshold=1000)
    chunks = list(crawler.pages(asked, "read", {"startLine": 100, "endLine": 400}))
    assert len(chunks) > 1
    assert "".join(chunk["content"] for chunk in chunks) == "".join(LOG.splitlines(keepends=True)[99:400])
    assert chunks[0]["metadata"]["startLine"] == 100
    assert chunks[-1]["metadata"]["endLine"] == 400
    asked.assert_never_over_the_cap()


@pytest.mark.parametrize(
    ("lines", "parameter"),
    [({"startLine": 1001}, "startLine"), ({"startLine": 20, "endLine": 10}, "endLine"), ({"endLine": 0}, "endLine")],
)
def test_a_range_that_makes_no_sense_names_its_parameter(lines: dict[str, int], parameter: str):
    with pytest.raises(InvalidArgument) as refused:
        desk(LOG, "a.log")("read", lines)
    assert refused.value.parameter == parameter
    assert refused.value.value == lines[parameter]


def test_lines_cannot_change_in_a_walk():
    asked = desk(LOG, "a.log", hard_cap=2000, token_budget_threshold=1000)
    cursor = asked("read", {"startLine": 100})["nextCursor"]
    with pytest.raises(InvalidCursor) as refused:
        asked("read", {"startLine": 200, "cursor": cursor})
    assert refused.value.reason == "cursor_mismatch"
    assert asked("read", {"startLine": 100, "cursor": cursor})["chunkIndex"] == 1


def test_a_text_that_is_no_longer_kept_means_that_the_cursor_has_expired():
    asked = desk(LOG, "a.log")
    cursor = asked("read", {})["nextCursor"]
    asked.text = MemoryText("another text", name="a.log")
    with pytest.raises(InvalidCursor) as refused:
        asked("read", {"cursor": cursor})
    assert refused.value.reason == "cursor_expired"


def test_an_empty_text_is_one_empty_chunk():
    answer = desk("")("read", {})
    assert (answer["content"], answer["totalChunks"], answer["metadata"]["bytesInChunk"]) == ("", 1, 0)


@dataclass
class CountedText(MemoryText):
    """A text that tells how often it was read whole."""

    wholes: int = 0

    def whole(self) -> str:
        self.wholes += 1
        return super().whole()


def test_a_long_text_is_read_whole_once_per_version_and_then_by_its_pieces():
    text = CountedText(LOG + "counted\n", name="a.log")
    asked = Desk(text=text)
    for _ in range(3):
        assert len(list(crawler.pages(asked, "read", {}))) == 6
    assert text.wholes == 1
    asked.text = CountedText(LOG + "changed\n", name="a.log")
    assert crawler.text(asked, "read", {}).endswith("changed\n")
