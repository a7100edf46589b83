"""A search finds what is there, says where, ends in time, and goes on where it stopped."""

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_protection.core.errors import InvalidArgument
from context_protection.core.patterns import WINDOW, pattern, words
from context_protection.core.results.search import (
    SNIPPET_CHARS,
    SearchResult,
    leaves,
    search_rows,
    search_text,
    search_value,
    snippet,
)
from context_protection.core.results.selection import pick
from tests.properties import payloads

ROWS: list[Any] = [
    {"id": 71, "guest": {"name": "Loïc Crèvecœur", "notes": "Late arrival"}, "price": 120.5},
    {"id": 72, "guest": None, "items": [{"name": "bed"}, {"name": "Arrival kit"}], "paid": True},
    {"id": [], "text": 'say "arrival"\nthen go'},
]


def pieces(text: str, size: int) -> Iterator[tuple[int, int, str]]:
    line = 1
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        yield line, start, piece
        line += piece.count("\n")


def lines(found: SearchResult) -> list[int | None]:
    return [hit.line for hit in found.hits]


# -- Rows and records -------------------------------------------------------------------------------


def test_a_hit_in_rows_names_row_id_and_path():
    found = search_rows(ROWS, pattern("arrival"))
    assert found.document() == {
        "hits": [
            {"row": 0, "id": 71, "path": "guest.notes", "match": "Late arrival"},
            {"row": 1, "id": 72, "path": "items[1].name", "match": "Arrival kit"},
            {"row": 2, "path": "text", "match": 'say "arrival" then go'},
        ],
        "complete": True,
        "totalCount": 3,
    }


@pytest.mark.parametrize(
    ("text", "rows"),
    [("CRÈVECŒUR", [0]), ("120.5", [0]), ("7", [0, 1]), ('"ARRIVAL"\nthen', [2]), ("true", []), ("guest", [])],
)
def test_texts_and_numbers_are_searched_in_upper_or_lower_case(text: str, rows: list[int]):
    assert [hit.row for hit in search_rows(ROWS, pattern(text)).hits] == rows


def test_a_folded_match_is_shown_where_it_stands():
    value = {"a": "ẞ" * 100 + " the STRASSE and Straße " + "x" * 200}
    (hit,) = search_value(value, pattern("and strasse")).hits
    assert "and Straße" in hit.match


def test_a_record_is_searched_by_path():
    found = search_value(ROWS[1], pattern(expression="(?i)^arr"))
    assert found.document()["hits"] == [{"path": "items[1].name", "match": "Arrival kit"}]


def test_hits_over_the_limit_are_counted_and_reached_from_where_it_says():
    rows = [{"a": "hit", "b": "hit", "c": "hit"} for _ in range(5)]
    first = search_rows(rows, pattern("hit"), limit=4)
    assert (len(first.hits), first.total, first.next_from) == (4, 15, "1.1")
    rest = search_rows(rows, pattern("hit"), start=first.next_from)
    assert (len(rest.hits), rest.total, rest.next_from) == (11, 11, None)


@given(st.lists(payloads.values, max_size=6), st.text(min_size=1, max_size=3), st.integers(1, 4))
def test_going_on_finds_every_hit_once_and_its_path_leads_there(rows: list[Any], text: str, limit: int):
    wanted = pattern(text)
    expected = [(row, path) for row, value in enumerate(rows) for path, leaf in leaves(value) if wanted.find(leaf, 1)]
    got: list[Any] = []
    start: str | None = "0"
    while start is not None:
        found = search_rows(rows, wanted, start=start, limit=limit)
        got += [(hit.row, hit.path) for hit in found.hits]
        start = found.next_from
    assert got == expected


def test_a_hits_place_is_what_result_get_takes():
    for hit in search_rows(ROWS, pattern("arrival")).hits:
        assert "arrival" in pick(ROWS, rows=hit.row, path=hit.path).lower()


def test_rows_of_odd_values_are_searched_as_well():
    deep: Any = "needle"
    for _ in range(3000):
        deep = [deep]
    rows = [deep, 2**80, "\ud800 needle", None, float("inf")]
    assert [hit.row for hit in search_rows(rows, pattern("needle")).hits] == [0, 2]
    assert [hit.row for hit in search_rows(rows, pattern(str(2**80))).hits] == [1]
    assert search_rows(rows, pattern("\ud800")).total == 1


# -- Texts ------------------------------------------------------------------------------------------

LOG = "".join(f"line {number} of the log\r\n" for number in range(1, 301))


@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
@pytest.mark.parametrize("wanted", [pattern("LINE 29"), pattern(expression=r"^line 29\d? of.*log\r?$")])
def test_a_text_is_searched_by_lines_across_its_pieces(size: int, wanted: Any):
    found = search_text(pieces(LOG, size), wanted)
    assert (lines(found), found.complete) == ([29, *range(290, 300)], True)
    assert found.hits[0].match.strip() == "line 29 of the log"


def test_a_text_goes_on_from_a_line_wherever_its_pieces_begin():
    first = search_text(pieces(LOG, 50), pattern("of the"), limit=200)
    assert (first.total, first.next_from) == (300, "201")
    rest = search_text(pieces(LOG, 50), pattern("of the"), start=first.next_from, limit=200)
    assert lines(rest) == list(range(201, 301))
    later = [piece for piece in pieces(LOG, 50) if piece[0] > 250]
    assert lines(search_text(iter(later), pattern("line 299 "))) == [299]


@pytest.mark.parametrize("wanted", [pattern("needle"), pattern(expression="needle")])
def test_a_line_without_end_is_one_line(wanted: Any):
    text = "\n" + "x" * (WINDOW - 3) + "needle" + "y" * 5 * WINDOW + "\nthe needle"
    for size in (10_000, 10**7):
        found = search_text(pieces(text, size), wanted)
        assert (lines(found), found.total) == ([2, 3], 2)
        assert "needle" in found.hits[0].match


LONG = "word " * WINDOW  # several windows


@pytest.mark.parametrize("size", [10_000, 64_000, 10**7])
@pytest.mark.parametrize("end", ["", "\n", "\r\nlast"])
@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("^word", True),
        (r"^ ?ord", False),
        (r"(?<!\w)ord", False),
        ("done$", True),
        (r"\w+ done\Z", True),
        (r"(?:wor|word|word )$", False),
        (r"\bwo\b", False),
        (r"word (?!word)(?!done)", False),
        ("^word .* done$", False),  # such a match would be longer than windows overlap
        ("$", True),
        ("^", True),
    ],
)
def test_a_long_line_begins_and_ends_once(size: int, end: str, expression: str, found: bool):
    text = f"first\n{LONG}done{end}"
    assert (2 in lines(search_text(pieces(text, size), pattern(expression=expression), start=2))) == found
    assert bool(search_value({"a": f"{LONG}done"}, pattern(expression=expression)).hits) == found


@pytest.mark.parametrize("size", [1, 7, 10**6])
@pytest.mark.parametrize(
    ("expression", "numbers"), [("log$", list(range(1, 301))), (r"1\d9 of the log\Z", list(range(109, 200, 10)))]
)
def test_a_line_ends_before_its_carriage_return(size: int, expression: str, numbers: list[int]):
    assert lines(search_text(pieces(LOG, size), pattern(expression=expression), limit=300)) == numbers
    assert search_text(pieces("\r\n\n", size), pattern(expression="^$")).total == 2


@pytest.mark.parametrize("size", [10_000, 64_000, 10**7])
@pytest.mark.parametrize("end", ["", "\n", "\nlast"])
def test_words_far_apart_in_one_line_are_a_hit(size: int, end: str):
    far = "x" * 3 * WINDOW
    text = f"first\nHeron {far} crane{end}\nheron\ncrane"
    found = search_text(pieces(text, size), words("heron crane", "search"))
    assert (lines(found), found.total) == ([2], 1)
    assert "crane" in found.hits[0].match or "Heron" in found.hits[0].match
    assert search_text(pieces(text, size), words("heron crane stork", "search")).total == 0


def test_the_end_of_a_long_line_is_no_line_of_its_own():
    text = "x" * 3 * WINDOW + "\n\nend"
    assert lines(search_text(pieces(text, 10_000), pattern(expression="^$"))) == [2]
    assert lines(search_text(pieces(text.replace("\n\n", "\n"), 10_000), pattern(expression="^$"))) == []


@pytest.mark.parametrize("wanted", [pattern("needle"), pattern(expression="needle"), words("need needle", "search")])
def test_a_long_line_with_several_matches_is_one_hit(wanted: Any):
    match = f"needle {'x' * 2 * WINDOW}"
    text = f"one\n{match * 3}\nneedle"
    found = search_text(pieces(text, 10_000), wanted)
    assert (lines(found), found.total) == ([2, 3], 2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["ab", "a\nb", "\n", "x" * 30, "b"]), max_size=40), st.integers(1, 50))
def test_pieces_of_any_size_give_the_same_hits(parts: list[str], size: int):
    text = "".join(parts)
    expected = [number for number, line in enumerate(text.split("\n"), start=1) if "ab" in line]
    assert lines(search_text(pieces(text, size), pattern("AB"))) == expected


# -- Snippets ---------------------------------------------------------------------------------------


def test_a_snippet_is_cut_at_the_ends_of_words():
    text = "some words " * 50 + "the needle here " + "more words " * 50
    start = text.index("needle")
    shown = snippet(text, start, start + 6)
    assert "the needle here" in shown
    assert len(shown) <= SNIPPET_CHARS
    assert all(word in ("some", "words", "the", "needle", "here", "more") for word in shown.strip("…").split())


@given(st.text(alphabet="ab \n静", max_size=400), st.data())
def test_a_snippet_is_short_and_holds_the_start_of_the_match(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    shown = snippet(text, start, end)
    assert len(shown) <= SNIPPET_CHARS
    assert " ".join(text[start : min(end, start + 100)].split()) in " ".join(shown.split())


# -- What goes wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        *["(", "[", "a**", "\\", r"\L<x>", "(?R)", "(?1)", "(?&x)", "(?x)a #[", "(" * 400, r"\p{nosuch}"],
        *["(?:(?:(?:a?){100}){100}){100}", "a{1000000}", "([(](a?){200}){200}", "((a?){200}[)]){200}"],
        *["a{" + "9" * 40 + "}", "x" * 501, ""],
    ],
)
def test_a_pattern_that_cannot_be_searched_for_is_refused(expression: str):
    with pytest.raises(InvalidArgument) as error:
        pattern(expression=expression)
    assert error.value.parameter == "regex"


def test_a_bad_pattern_says_where():
    with pytest.raises(InvalidArgument, match=r"missing .* at character 6"):
        pattern(expression="(abcd")


@pytest.mark.parametrize(
    "expression",
    [
        r"\d{4}-\d{2}-\d{2}",
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"(?i)\bno\b.{0,200}x",
        "a{5000}",
    ],
)
def test_usual_patterns_are_taken(expression: str):
    pattern(expression=expression)


@pytest.mark.parametrize(("text", "expression"), [(None, None), ("a", "a"), ("", None), ("x" * 501, None)])
def test_one_of_text_and_regex_is_asked_for(text: str | None, expression: str | None):
    with pytest.raises(InvalidArgument):
        pattern(text, expression)


@pytest.mark.parametrize("start", ["x", "-1", "1.", "1.2.3", "1" * 13, "٣"])
def test_a_from_that_is_no_place_is_refused(start: str):
    with pytest.raises(InvalidArgument) as error:
        search_rows(ROWS, pattern("a"), start=start)
    assert error.value.parameter == "from"


@pytest.mark.parametrize("limit", [0, -1, 5001])
def test_a_limit_out_of_range_is_refused(limit: int):
    with pytest.raises(InvalidArgument):
        search_text(pieces("a", 1), pattern("a"), limit=limit)


def test_a_from_after_the_end_finds_nothing():
    assert search_rows(ROWS, pattern("a"), start=99).total == 0
    assert search_text(pieces("a\na", 1), pattern("a"), start=99).total == 0


@given(st.text(alphabet="ab()[]{}*+?|\\^$.,0123456789<>=!:#-PiLRnx&~", max_size=25))
@settings(max_examples=300, deadline=None)
def test_any_pattern_is_searched_for_or_refused(expression: str):
    try:
        wanted = pattern(expression=expression)
    except InvalidArgument:
        return
    assert search_rows([{"a": "ab" * 50}], wanted, seconds=0.2).hits is not None


# -- Time -------------------------------------------------------------------------------------------

CATASTROPHE = pattern(expression="(?:a|aa)+$")
BAIT = "a" * 5000 + "!"


def test_a_catastrophic_pattern_stops_and_the_next_search_goes_on_after_it():
    rows = [{"a": BAIT}, {"a": "aaa"}, {"a": BAIT, "b": "aa"}]
    began = time.process_time()
    first = search_rows(rows, CATASTROPHE, seconds=0.2)
    assert time.process_time() - began < 1
    assert (first.complete, first.total, first.next_from, first.passed_over) == (False, None, "0.1", "0")
    second = search_rows(rows, CATASTROPHE, start=first.next_from, seconds=0.2)
    assert ([hit.row for hit in second.hits], second.next_from, second.passed_over) == ([1], "2", None)
    third = search_rows(rows, CATASTROPHE, start=second.next_from, seconds=0.2)
    assert (third.next_from, third.passed_over) == ("2.1", "2")
    last = search_rows(rows, CATASTROPHE, start=third.next_from, seconds=0.2)
    assert (last.complete, [hit.path for hit in last.hits]) == (True, ["b"])


def test_a_catastrophic_line_is_passed_over_by_name():
    text = f"{BAIT * 20}\naaa\n"
    first = search_text(pieces(text, 1000), CATASTROPHE, seconds=0.2)
    assert (first.hits, first.next_from, first.passed_over) == ((), "2", "1")
    assert lines(search_text(pieces(text, 1000), CATASTROPHE, start="2")) == [2]


def test_a_text_without_end_stops_in_time_and_takes_no_memory():
    def endless() -> Iterator[tuple[int, int, str]]:
        piece = "".join(f"{random.random()} words\n" for _ in range(1000))
        number = 0
        while True:
            yield number * 1000 + 1, number * len(piece), piece
            number += 1

    for wanted in (pattern("never"), pattern(expression="never$")):
        found = search_text(endless(), wanted, seconds=0.2)
        assert not found.complete
        assert int(found.next_from or 0) > 1000


def test_hits_that_were_over_the_limit_when_time_was_up_are_not_lost():
    rows = [{"a": "aa"}, {"a": "aa"}, {"a": BAIT}]
    found = search_rows(rows, CATASTROPHE, limit=1, seconds=0.2)
    assert (len(found.hits), found.complete, found.next_from) == (1, False, "1")
