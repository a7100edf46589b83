"""`search` in a text: what it says about the lines, and the call that reads on."""

from typing import Any

import pytest

from context_protection.core.text_search import READ_ON
from tests import crawler
from tests.properties.desk import Desk, MemoryText

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def searched(content: str, search: str, **more: Any) -> dict[str, Any]:
    return Desk(text=MemoryText(content))("read", {"search": search, **more})


def notes(content: str, search: str, **more: Any) -> list[str]:
    found: list[str] = searched(content, search, **more)["meta"]["notes"]
    return found


@pytest.mark.parametrize(
    ("asked", "count"), [({}, 10), ({"endLine": 1000}, 10), ({"startLine": 4}, 7), ({"startLine": 4, "endLine": 6}, 3)]
)
def test_a_search_that_misses_counts_only_the_lines_that_there_are(asked: dict[str, int], count: int):
    expected = f"None of {count} lines has all words of search. Try fewer, or parts of words."
    assert notes(TEN, "zebra", **asked) == [expected]


def test_a_single_line_is_named_as_such():
    expected = "The only line that was searched lacks words of search. Try fewer, or parts of words."
    assert notes("one", "zebra") == notes(TEN, "zebra", startLine=10, endLine=99) == [expected]


def test_each_word_of_a_search_that_misses_is_counted():
    assert notes(TEN, "line zebra 1 2 10")[1:] == [
        "Lines with each word of search alone: line 10, zebra 0, 1 2, 2 1, 10 1."
    ]
    assert notes(TEN, "line zebra a b c d e f")[1:] == [
        "Lines with each of the first 6 words of search alone: line 10, zebra 0, a 0, b 0, c 0, d 0."
    ]


def test_each_word_of_a_search_through_a_list_is_counted():
    desk = Desk([{"id": number, "note": f"heron {number}"} for number in range(1, 4)])
    answer = desk("list", {"search": "heron 1 2 3 4"})
    assert answer["meta"]["notes"][-1] == "Rows with each word of search alone: heron 3, 1 1, 2 1, 3 1, 4 0."


@pytest.mark.parametrize(("wanted", "first", "last"), [("5", 5, 10), ("7", 7, 10), ("10", 10, 10)])
def test_reading_on_ends_with_the_last_line(wanted: str, first: int, last: int):
    _, arguments = crawler.details(searched(TEN, f"line {wanted}")["meta"]["detailsAvailable"])
    assert (arguments["startLine"], arguments["endLine"]) == (first, last)


def test_reading_on_takes_some_lines():
    content = "".join(f"line {number}\n" for number in range(1, 101))
    _, arguments = crawler.details(searched(content, "line 40")["meta"]["detailsAvailable"])
    assert (arguments["startLine"], arguments["endLine"]) == (40, 40 + READ_ON - 1)
