"""A value in parts is the value again, whatever the room; each part says what it goes on with (law 2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import parts
from context_protection.core.budget import dumps, length
from tests import crawler
from tests.properties import payloads

STORY = "Once upon a time. " * 30


def walk(value: Any, room: int) -> list[tuple[str | None, Any]]:
    """Every part, with what it continues."""
    found: list[tuple[str | None, Any]] = []
    position: parts.Position | None = []
    while position is not None:
        part = parts.take(value, position, room)
        found.append((parts.continues(value, position), part.value))
        assert part.following != position, "a part gets on"
        position = part.following
    return found


def merged(found: list[tuple[str | None, Any]]) -> Any:
    whole = found[0][1]
    for continued, piece in found[1:]:
        whole = crawler.merge(whole, piece, "", continued)
    return whole


@given(st.dictionaries(payloads.names, payloads.values, max_size=8), st.integers(1, 3000))
def test_parts_put_together_are_the_value_in_its_own_order(value: dict[str, Any], room: int):
    assert dumps(merged(walk(value, room))) == dumps(value)


def test_names_count_as_much_as_values():
    value = {f"{n}{'name' * 50}": n for n in range(100)}
    assert all(length(dumps(piece)) <= 1000 for _, piece in walk(value, 1000))


def test_a_value_that_is_too_large_for_any_part_begins_in_the_room_that_is_left():
    (_, first), *_ = walk({"id": 1, "story": STORY * 10}, 1000)
    assert list(first) == ["id", "story"]


def test_a_value_that_fits_into_a_part_is_not_divided():
    value = {f"note{n}": STORY for n in range(9)}
    assert all(text == STORY for _, piece in walk(value, 1000) for text in piece.values())


@pytest.mark.parametrize(
    ("position", "path"),
    [
        ([], None),
        ([1], None),
        ([0], None),
        ([0, 0], "a"),
        ([0, 0, 1], "a.rows"),
        ([0, 0, 2, 35], "a.rows.2"),
        ([0, 0, 3, 1], "a.rows.3"),
        ([0, 1, 5], "a.note"),
    ],
)
def test_a_part_names_the_path_that_it_goes_on_with(position: list[Any], path: str | None):
    value = {"a": {"rows": [1, 2, STORY, {"m": 0, "n": 1}], "note": STORY}, "z": 1}
    assert parts.continues(value, position) == path


def test_an_element_that_is_gone_on_with_is_not_a_new_one():
    assert crawler.merge({"rows": [1, "ab"]}, {"rows": ["cd", 2]}, "", "rows.1") == {"rows": [1, "abcd", 2]}
    assert crawler.merge({"rows": [1, "ab"]}, {"rows": ["cd", 2]}, "", "rows") == {"rows": [1, "ab", "cd", 2]}
    assert crawler.merge({"rows": [{"a": [1]}]}, {"rows": [{"a": [2]}]}, "", "rows.0.a") == {"rows": [{"a": [1, 2]}]}


def test_index_1_is_not_taken_for_index_10():
    whole = {"rows": ["a", "b"]}
    assert crawler.merge(whole, {"rows": ["c"]}, "", "rows.10") == {"rows": ["a", "b", "c"]}


def test_parts_are_about_as_large_as_the_room():
    sizes = [
        length(dumps(piece)) for _, piece in walk({"rows": [{"n": n, "text": "x" * 30} for n in range(200)]}, 1000)
    ]
    assert max(sizes) <= 1100
    assert min(sizes[:-1]) >= 700


def test_a_text_is_divided_after_sentences():
    for _, piece in walk({"story": STORY}, 200)[:-1]:
        assert piece["story"].endswith(". ")


def test_a_value_that_fits_a_fresh_part_is_not_torn():
    value = {"first": "x" * 600, "second": "y" * 600}
    assert [list(piece) for _, piece in walk(value, 1000)] == [["first"], ["second"]]
    assert walk(value, 1000)[1][1] == {"second": "y" * 600}
