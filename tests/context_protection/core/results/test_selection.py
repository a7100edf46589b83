"""A part of a stored result is had by path and rows; what is not there is named."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.errors import InvalidArgument
from context_protection.core.results.search import leaves
from context_protection.core.results.selection import pick
from tests.properties import payloads

RECORD: dict[str, Any] = {
    "id": 7,
    "guest": {"name": "Ada", "notes": "late"},
    "items": [{"name": "bed", "x": 1}, {"name": "sofa"}, {"x": None}],
    "none": None,
    "empty": [],
    "a.b": {"c.d": [5]},
    "a": {"b": "shadow"},
    "odd[0]": 1,
    "0": "zero",
}
ROWS = [{"id": number, "guest": {"name": f"guest {number}"}, "tags": [number, 9]} for number in range(5)]


def refused(value: Any, **asked: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as error:
        pick(value, **asked)
    return error.value


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("id", 7),
        ("guest", RECORD["guest"]),
        ("guest.name", "Ada"),
        ("items[1].name", "sofa"),
        ("items.1.name", "sofa"),
        ("items[1]", {"name": "sofa"}),
        ("items[*].name", ["bed", "sofa", None]),
        ("items.*.name", ["bed", "sofa", None]),
        ("items.*", RECORD["items"]),
        ("empty.*.anything", []),
        ("a.b.c.d[0]", 5),
        ("odd[0]", 1),
        ("0", "zero"),
        ("none", None),
        (None, RECORD),
    ],
)
def test_a_path_leads_to_a_value(path: str | None, part: Any):
    assert pick(RECORD, path=path) == part


PLAIN = st.recursive(
    st.text(max_size=5) | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "é e", "x-1"]), inner),
)


@given(PLAIN)
def test_the_path_of_every_leaf_leads_to_it(value: Any):
    for path, leaf in leaves({"top": value}):
        assert str(pick({"top": value}, path=path)) == leaf


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"rows": "1-2"}, ROWS[1:3]),
        ({"rows": "4"}, ROWS[4]),
        ({"rows": 4}, ROWS[4]),
        ({"rows": "4-4"}, [ROWS[4]]),
        ({"rows": " 0 - 4 "}, ROWS),
        ({"rows": "2", "path": "guest.name"}, "guest 2"),
        ({"rows": "1-2", "path": "guest.name"}, ["guest 1", "guest 2"]),
        ({"path": "[3].tags[1]"}, 9),
        ({"path": "*.id"}, [0, 1, 2, 3, 4]),
    ],
)
def test_rows_of_a_list_are_chosen_before_the_path_goes_on(asked: dict[str, Any], part: Any):
    assert pick(ROWS, **asked) == part


def test_rows_of_a_list_in_a_record_are_chosen_after_its_path():
    assert pick(RECORD, path="items", rows="0-1") == RECORD["items"][:2]


@pytest.mark.parametrize("rows", ["5", "0-5", "3-1", "-1", "x", "", "1-", "1.5", "99999999999", "٣"])
def test_rows_that_are_not_there_are_refused(rows: str):
    assert refused(ROWS, rows=rows).parameter == "rows"


def test_rows_say_that_they_count_from_0_and_to_where():
    error = refused(ROWS, rows="3-9")
    assert error.expected == "0 to 4"
    assert "count from 0" in error.suggestion
    assert refused([], rows="0").expected == "none: the list is empty"
    assert refused(RECORD, rows="0").message == "rows needs a list, not an object."


@pytest.mark.parametrize(
    ("path", "message", "suggestion"),
    [
        ("guest.nots", "'nots', which does not exist at 'guest'", "Set path to guest.notes."),
        ("ide", "'ide', which does not exist at the top", "Set path to id."),
        ("items[7].name", "an element of the list at 'items'", "Set path to items.*."),
        ("items.name", "an element of the list at 'items'", "Set path to items.*."),
        ("items[0].nam", "'nam', which does not exist at 'items[0]'", "Set path to items[0].name."),
        ("id.below", "at 'id', but there is a number", "Set path to id."),
        ("none.below", "but there is null", "Set path to none."),
        ("empty[0]", "but there is an empty list", "Set path to empty."),
        ("items.*.nothing", "'nothing', which does not exist at 'items.*'", "Set path to items.*."),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends_and_what_is_there(path: str, message: str, suggestion: str):
    error = refused(RECORD, path=path)
    assert message in error.message
    assert error.suggestion == suggestion


@pytest.mark.parametrize("path", ["", "x" * 501, "*.*.*.*.*.*"])
def test_a_path_that_is_empty_or_too_long_is_refused(path: str):
    assert refused(RECORD, path=path).parameter == "path"


def test_what_an_error_lists_is_bounded():
    wide = {f"a_rather_long_name_of_a_field_{number}": 1 for number in range(5000)}
    assert len(refused(wide, path="nothing").expected) < 1900


@given(payloads.values, st.text(max_size=20) | st.sampled_from(["*", "[0]", "a.*", "*.*", "[*].a", "0.0"]))
def test_any_path_gives_a_value_or_an_error_of_ours(value: Any, path: str):
    try:
        pick(value, path=path)
    except InvalidArgument as error:
        assert error.parameter == "path"  # noqa: PT017
