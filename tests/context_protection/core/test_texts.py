"""A text: whole while it is short, in chunks on its own boundaries, or the lines asked for (FR-020 to FR-023)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import pytest

from context_protection.core import tokens
from context_protection.core.cursors import Sealer, Snapshot, Snapshots
from context_protection.core.errors import InvalidArgument, InvalidCursor
from context_protection.core.policy import Policy
from context_protection.core.splitting.plans import Indexing, IndexingProgress
from tests import crawler
from tests.properties.desk import Desk, DictSnapshots, MemoryText, real_tokens

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


@pytest.mark.parametrize(
    ("lines", "has_handle"),
    [
        ({}, False),
        ({"startLine": 1, "endLine": 99}, False),
        ({"startLine": 5}, True),
        ({"startLine": 2, "endLine": 9}, True),
        ({"endLine": 8}, True),
    ],
)
def test_an_answer_with_only_some_lines_has_a_handle_to_the_whole_text(lines: dict[str, int], has_handle: bool):
    content = "".join(f"line {number}\n" for number in range(1, 10))
    asked = Desk(text=MemoryText(content), result_operation="result_query")
    assert ("resultHandle" in asked("read", lines)["meta"]) is has_handle


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

    def read(self, version: str, start: int, end: int) -> str | None:
        self.wholes += end - start == len(self.content)
        return super().read(version, start, end)


def test_a_long_text_is_read_whole_once_per_version_and_then_by_its_pieces():
    text = CountedText(LOG + "counted\n", name="a.log")
    asked = Desk(text=text)
    for _ in range(3):
        assert len(list(crawler.pages(asked, "read", {}))) == 6
    assert text.wholes == 1
    asked.text = CountedText(LOG + "changed\n", name="a.log")
    assert crawler.text(asked, "read", {}).endswith("changed\n")


# -- Notes ------------------------------------------------------------------------------------------

CSV = "id,guest,note\r\n" + "".join(f'{n},Ada,"so\nlong"\r\n' for n in range(500))


def test_every_chunk_of_a_csv_file_but_the_first_repeats_its_header():
    chunks = list(crawler.pages(desk(CSV, "a.csv"), "read", {}))
    assert "header" not in chunks[0]["metadata"]
    assert {chunk["metadata"]["header"] for chunk in chunks[1:]} == {"id,guest,note"}
    assert "".join(chunk["content"] for chunk in chunks) == CSV
    assert "header" in desk(CSV, "a.csv")("read", {"startLine": 900})["metadata"]


def test_a_header_of_several_lines_is_repeated_whole():
    text = 'id,"price\nin EUR",note\n' + "1,2,3\n" * 2000
    assert list(crawler.pages(desk(text, "a.csv"), "read", {}))[1]["metadata"]["header"] == 'id,"price\nin EUR",note'


@pytest.mark.parametrize("columns", [150, 300, 5000])
def test_a_long_header_leaves_less_room_and_one_that_would_leave_none_is_not_repeated(columns: int):
    header = ",".join(f"column_{n}" for n in range(columns))
    text = header + "\n" + (",".join(map(str, range(columns))) + "\n") * (60_000 // columns)
    asked = desk(text, "a.csv")
    chunks = list(crawler.pages(asked, "read", {}))
    assert ("header" in chunks[-1]["metadata"]) == (columns < 5000)
    assert "".join(chunk["content"] for chunk in chunks) == text
    asked.assert_never_over_the_cap()


def test_a_header_of_more_than_an_eighth_of_the_cap_is_not_repeated():
    header = ",".join(f"column_{n}" for n in range(60))
    text = header + "\n" + (",".join(map(str, range(60))) + "\n") * 500
    assert "header" in list(crawler.pages(desk(text, "a.csv"), "read", {}))[-1]["metadata"]
    small = desk(text, "a.csv", hard_cap=1000, token_budget_threshold=1000)
    assert "header" not in list(crawler.pages(small, "read", {}))[-1]["metadata"]


def test_a_cap_that_is_lowered_during_a_walk_holds_from_the_next_chunk_on():
    words = "".join(f"Line {n} has a sentence. And it has one more.\n" for n in range(600))
    asked = desk(words, chunk_tokens=2500)
    chunks = [asked("read", {})]
    asked.policy = Policy(hard_cap=1200, token_budget_threshold=1000, chunk_tokens=2500)
    while "nextCursor" in chunks[-1]:
        chunks.append(asked("read", {"cursor": chunks[-1]["nextCursor"]}))
    assert "".join(chunk["content"] for chunk in chunks) == words
    assert [chunk["chunkIndex"] for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) == chunks[-1]["totalChunks"] > 6
    ends = list(accumulate(chunk["content"].count("\n") for chunk in chunks))
    assert [chunk["metadata"]["startLine"] for chunk in chunks] == [1, *(end + 1 for end in ends[:-1])]
    assert {chunk["metadata"]["totalLines"] for chunk in chunks} == {600}
    assert [envelope.baseline for envelope in asked.envelopes[1:]] == [0] * (len(chunks) - 1), "counted at first, once"
    assert all(real_tokens(each.body.decode(), 1200) <= 1200 for each in asked.envelopes[1:])


def test_an_encoding_other_than_utf_8_is_told_with_every_chunk():
    asked = Desk(text=MemoryText(LOG, name="a.log", encoding="cp1252"))
    assert {chunk["metadata"]["encoding"] for chunk in crawler.pages(asked, "read", {})} == {"cp1252"}
    assert "encoding" not in desk(LOG, "a.log")("read", {})["metadata"]


def test_a_file_that_is_no_text_is_answered_with_its_facts():
    facts = {"id": "a.png", "bytes": 3, "binary": True}
    answer = Desk(text=MemoryText("", facts=facts))("read", {})
    assert crawler.own(answer) == facts
    assert answer["meta"]["kind"] == "full"


def test_a_walk_goes_on_through_a_text_whose_name_is_now_that_of_a_binary():
    asked = desk(LOG, "a.log")
    cursor = asked("read", {})["nextCursor"]
    asked.text.facts = {"id": "a.log", "binary": True}  # type: ignore[union-attr]
    assert asked("read", {"cursor": cursor})["chunkIndex"] == 1


# -- Texts that are too long to be planned in a call ------------------------------------------------

LONG = "".join(f"2026-11-20T13:00:{n % 60:02} INFO line {n}\n" for n in range(1, 60_001))
LINES = LONG.splitlines(keepends=True)


@pytest.fixture(scope="module")
def planned_text() -> MemoryText:
    """Its plans are made once."""
    return MemoryText(LONG, name="a.log")


@pytest.fixture
def long_text(planned_text: MemoryText) -> MemoryText:
    planned_text.unfinished = None  # another test may have left it half done
    return planned_text


@pytest.fixture
def long(long_text: MemoryText) -> Desk:
    return Desk(text=long_text)


def test_a_long_text_is_read_to_its_end_by_the_plan_that_is_kept(long: Desk):
    chunks = list(crawler.pages(long, "read", {}))
    assert "".join(chunk["content"] for chunk in chunks) == LONG
    assert [chunk["chunkIndex"] for chunk in chunks] == list(range(300))
    assert {chunk["totalChunks"] for chunk in chunks} == {300}
    assert [chunk["metadata"]["startLine"] for chunk in chunks] == list(range(1, 60_001, 200))
    assert {chunk["metadata"]["totalLines"] for chunk in chunks} == {60_000}


def test_the_walk_over_a_long_text_keeps_a_reference_and_no_plan(long: Desk):
    long("read", {})
    assert max(map(len, long.snapshots.store.kept.values())) < 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("first", "last"), [(1, 1), (777, 901), (150, 20_050), (59_990, None), (None, 5000), (2, 80_000)]
)
def test_lines_of_a_long_text_are_exactly_those(long: Desk, first: int | None, last: int | None):
    lines = {name: value for name, value in (("startLine", first), ("endLine", last)) if value}
    chunks = list(crawler.pages(long, "read", lines))
    assert "".join(chunk["content"] for chunk in chunks) == "".join(LINES[(first or 1) - 1 : last])
    assert chunks[0]["metadata"]["startLine"] == (first or 1)
    assert chunks[-1]["metadata"]["endLine"] == min(last or 60_000, 60_000)
    assert {chunk["metadata"]["totalLines"] for chunk in chunks} == {60_000}
    assert [chunk["chunkIndex"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk["totalChunks"] for chunk in chunks} == {len(chunks)}
    for before, behind in pairwise(chunks):
        assert behind["metadata"]["startLine"] == before["metadata"]["endLine"] + 1
    long.assert_never_over_the_cap()


@pytest.mark.parametrize(
    ("lines", "parameter"),
    [({"startLine": 60_001}, "startLine"), ({"startLine": 9, "endLine": 8}, "endLine"), ({"endLine": 0}, "endLine")],
)
def test_a_range_of_a_long_text_that_makes_no_sense_names_its_parameter(
    long: Desk, lines: dict[str, int], parameter: str
):
    with pytest.raises(InvalidArgument) as refused:
        long("read", lines)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize("count", [2_000, 60_000])
@pytest.mark.parametrize("end", ["", "\nlast line\n"])
def test_reading_goes_on_with_the_match_in_a_line_of_many_chunks(count: int, end: str):
    """The shorter text is planned within a call, the longer one before."""
    text = MemoryText("first line\n" + " ".join(f"word{number} and more." for number in range(count)) + end)
    asked = Desk(text=text)
    chunks = list(crawler.pages(asked, "read", {}))
    for number in (0, 3, count // 2, count - 1):
        found = asked("read", {"search": f"word{number} and"})
        row = next(each for each in found["items"] if f"word{number} and" in each["match"])
        assert row["line"] == 2
        chunk = chunks[row["chunkIndex"]]
        assert f"word{number} " in chunk["content"]
        _, arguments = crawler.details(found["meta"]["detailsAvailable"])
        read = asked("read", arguments)
        assert f"word{number} " in read["content"]
        if row["chunkIndex"] > chunks[0]["chunkIndex"]:
            assert read == chunk
    nothing = asked("read", {"search": "word0", "startLine": 1, "endLine": 1})
    assert nothing["items"] == []
    asked.assert_never_over_the_cap()


def test_a_match_in_a_range_names_the_chunk_of_the_whole_text():
    text = MemoryText("first line\n" * 1_000 + " ".join(f"word{number} and more." for number in range(2_000)))
    asked = Desk(text=text)
    chunks = list(crawler.pages(asked, "read", {}))
    found = asked("read", {"search": "word1999", "startLine": 900})
    _, arguments = crawler.details(found["meta"]["detailsAvailable"])
    assert asked("read", arguments) == chunks[-1]
    assert found["items"][0]["chunkIndex"] == len(chunks) - 1


class DownSnapshots(DictSnapshots):
    """A store that stores nothing."""

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        return replace(snapshot, is_stored=False)


def test_without_a_store_the_lines_of_a_match_are_to_be_read():
    text = MemoryText(" ".join(f"word{number} and more." for number in range(2_000)))
    asked = Desk(text=text, snapshots=Snapshots(DownSnapshots(), Sealer(["x" * 40])))
    found = asked("read", {"search": "word1999"})
    _, arguments = crawler.details(found["meta"]["detailsAvailable"])
    assert arguments == {"startLine": 1, "endLine": 1}


def test_a_long_text_is_searched_also_while_it_is_being_divided(long: Desk):
    """Only the numbers of the chunks are not known then."""
    word = LINES[41_000].split()[0]
    found = long("read", {"search": word, "startLine": 40_990, "endLine": 41_010})
    row = next(each for each in found["items"] if each["line"] == 41_001)
    chunks = crawler.pages(long, "read", {})
    place = next(each["metadata"] for each in chunks if each["chunkIndex"] == row["chunkIndex"])
    assert place["startLine"] <= 41_001 <= place["endLine"]
    long.text.unfinished = IndexingProgress(0.43, 17)  # type: ignore[union-attr]
    rows = long("read", {"search": word, "startLine": 40_990, "endLine": 41_010})["items"]
    assert rows == [{name: each[name] for name in ("line", "match")} for each in found["items"]]


def test_while_a_long_text_is_being_divided_its_reader_is_told_how_long_and_what_to_do(long: Desk):
    long.text.unfinished = IndexingProgress(0.43, 17)  # type: ignore[union-attr]
    with pytest.raises(Indexing) as refused:
        long("read", {})
    assert (refused.value.reason, refused.value.status, refused.value.retry_after) == ("indexing", 503, 17)
    assert "43%" in refused.value.message
    assert "startLine" in refused.value.suggestion


def test_lines_can_be_read_meanwhile_and_too_many_of_them_are_refused_with_a_number_that_works(long: Desk):
    long.text.unfinished = IndexingProgress(0.0, 60)  # type: ignore[union-attr]
    chunks = list(crawler.pages(long, "read", {"startLine": 100, "endLine": 9000}))
    assert "".join(chunk["content"] for chunk in chunks) == "".join(LINES[99:9000])
    assert chunks[0]["metadata"]["totalLines"] == 60_000
    with pytest.raises(Indexing) as refused:
        long("read", {"startLine": 10})
    assert (refused.value.parameter, refused.value.value) == ("endLine", 60_000)
    count = int(re.search(r"about ([\d,]+) lines", refused.value.expected)[1].replace(",", ""))  # type: ignore[index]
    assert count > 10_000
    assert long("read", {"startLine": 10, "endLine": 9 + count})["metadata"]["startLine"] == 10


def test_a_cap_that_is_lowered_during_a_walk_over_a_long_text_holds_from_the_next_chunk_on(long: Desk):
    answer = long("read", {})
    text = answer["content"]
    answer = long("read", {"cursor": answer["nextCursor"]})
    text += answer["content"]
    long.policy = Policy(hard_cap=1500, token_budget_threshold=1000)
    indexes = []
    while "nextCursor" in answer and len(indexes) < 30:
        answer = long("read", {"cursor": answer["nextCursor"]})
        text += answer["content"]
        indexes.append(answer["chunkIndex"])
    assert LONG.startswith(text)
    assert answer["metadata"]["endLine"] == text.count("\n")
    assert indexes == list(range(2, 32))
    assert answer["totalChunks"] > 900
    assert real_tokens(long.envelopes[-1].body.decode(), 1500) <= 1500


def test_a_range_that_begins_inside_a_fence_of_a_long_text_knows_that_it_does():
    words = "A sentence stands here. " * 30 + "\n\n"
    fence = "```\n" + "One thing. Another thing. More.\n" * 200 + "```\n\n"
    text = words * 1500 + fence + words * 1500
    asked = Desk(text=MemoryText(text, name="a.md"), policy=Policy(hard_cap=1000, token_budget_threshold=800))
    line = text[: text.index("One thing")].count("\n") + 3
    chunks = list(crawler.pages(asked, "read", {"startLine": line, "endLine": line + 150}))
    assert all(chunk["content"].endswith("\n") for chunk in chunks[:-1])
    assert "".join(chunk["content"] for chunk in chunks) == "".join(
        text.splitlines(keepends=True)[line - 1 : line + 150]
    )


def test_with_chunking_off_a_long_text_is_divided_by_the_cap_alone(long_text: MemoryText):
    asked = Desk(text=long_text, policy=Policy(chunking=False))
    first = asked("read", {})
    assert first["metadata"]["endLine"] > 250
    asked.assert_never_over_the_cap()


def test_a_setting_that_cuts_nothing_differently_needs_no_other_plan(long_text: MemoryText):
    long_text.plans.clear()
    for changes in ({}, {"chunk_tokens": 500}, {"max_page_size": 100}, {"token_budget_threshold": 3000}):
        Desk(text=long_text, policy=Policy(**changes))("read", {})
    assert len(long_text.plans) == 1
