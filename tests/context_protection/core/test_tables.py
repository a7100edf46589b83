"""Tables are lists, smaller, and nothing of them is lost (law 2)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.tables import rows, table
from tests.properties import payloads


def as_json(value: Any) -> str:
    """In which 1, 1.0 and true differ, and the order of names does not."""
    return json.dumps(value, sort_keys=True)


few = st.sampled_from([None, 0, 0.0, False, 1, 1.0, True, "", "a", [1], [True], [1.0], {"a": 1}, {"a": 1.0}, {}])
tables = st.lists(st.dictionaries(st.sampled_from("abc"), few, max_size=3), max_size=5)


@given(tables | st.lists(payloads.records, max_size=6))
def test_a_table_gives_its_rows_again(given_rows: list[dict[str, Any]]):
    written = json.loads(json.dumps(table(given_rows)))
    assert as_json(rows(written)) == as_json(given_rows)


def test_what_is_the_same_in_every_row_stands_once():
    assert table([{"id": 1, "currency": "EUR", "note": None}, {"id": 2, "currency": "EUR", "note": None}]) == {
        "columns": ["id"],
        "constants": {"currency": "EUR", "note": None},
        "rows": [[1], [2]],
    }


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ([1], [True]), ({"a": 1}, {"a": 1.0})])
def test_values_that_only_python_calls_equal_are_two(one: Any, other: Any):
    document = table([{"x": one}, {"x": other}])
    assert document["constants"] == {}
    assert as_json(document["rows"]) == as_json([[one], [other]])


def test_a_name_that_a_row_lacks_is_told_from_one_that_is_null():
    document = table([{"id": 1, "note": None}, {"id": 2}, {"id": 3, "note": "x"}])
    assert document["absent"] == {"note": [1]}
    assert rows(document)[:2] == [{"id": 1, "note": None}, {"id": 2}]


def test_a_name_that_only_some_rows_have_is_no_constant():
    document = table([{"id": 1, "x": "same"}, {"id": 2}])
    assert "x" not in document["constants"]
    assert rows(document)[1] == {"id": 2}


def test_a_single_row_is_a_row_and_no_row_is_no_row():
    assert table([{"id": 1}]) == {"columns": ["id"], "constants": {}, "rows": [[1]]}
    assert table([]) == {"columns": [], "constants": {}, "rows": []}
