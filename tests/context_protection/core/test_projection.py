"""Parts of a record by path keep their place in its structure (FR-017)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.projection import column, get, project, resolves, wanted

RECORD = {
    "id": 7,
    "price": {"base": 90, "tax": {"vat": 5, "city": 2}},
    "items": [{"name": "bed", "x": 1}, {"name": "sofa", "x": 2}],
    "none": None,
    "empty": [],
}


def projected(*paths: str) -> object:
    return project(RECORD, wanted(paths))


@pytest.mark.parametrize(
    ("record", "path", "part"),
    [
        ({"a": {"b": 1}}, "a.b", {"a": {"b": 1}}),
        ({"a": {"c": 1}}, "a.b", {"a": {}}),
        ({"a": None}, "a.b", {"a": None}),
        ({"a": 5}, "a.b", {}),
        ({"a": "x"}, "a.b", {}),
        ({"a": [{"b": 1}]}, "a.b", {}),
        ({"a": []}, "a.b", {}),
        ({"a": 5}, "a.*", {}),
        ({"a": {"b": 5}}, "a.b.c", {"a": {}}),
        ({"a": [5, None, {"b": 1}]}, "a.*.b", {"a": [None, {"b": 1}]}),
    ],
)
def test_a_value_that_cannot_have_the_wanted_name_is_left_out_instead_of_reported_as_null_or_empty(
    record: dict[str, object], path: str, part: object
):
    assert project(record, wanted([path])) == part


@pytest.mark.parametrize(
    ("paths", "part"),
    [
        (["id"], {"id": 7}),
        (["price.tax.vat"], {"price": {"tax": {"vat": 5}}}),
        (["price.tax.vat", "price.base"], {"price": {"base": 90, "tax": {"vat": 5}}}),
        (["items.*.name"], {"items": [{"name": "bed"}, {"name": "sofa"}]}),
        (["items"], {"items": RECORD["items"]}),
        (["empty.*.name"], {"empty": []}),
        (["none.below"], {"none": None}),
        (["nothing", "id"], {"id": 7}),
    ],
)
def test_a_projection_keeps_the_structure(paths: list[str], part: object):
    assert projected(*paths) == part


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("price.tax.vat", 5),
        ("items.*.name", ["bed", "sofa"]),
        ("items.*.none", [None, None]),
        ("items.*", RECORD["items"]),
        ("empty.*.name", []),
        ("price.*", None),
        ("id.below", None),
        ("none.below", None),
    ],
)
def test_a_path_below_a_star_gives_what_stands_in_each_element(path: str, value: object):
    assert get(RECORD, path) == value


@pytest.mark.parametrize("paths", [["price", "price.base"], ["price.base", "price"]])
def test_a_whole_wins_over_its_parts_in_either_order(paths: list[str]):
    assert projected(*paths) == {"price": RECORD["price"]}


@pytest.mark.parametrize(
    ("path", "leads_somewhere"),
    [
        ("id", True),
        ("price.tax.city", True),
        ("price.cities", False),
        ("id.below", False),
        ("items.*.name", True),
        ("items.*", True),
        ("items.name", False),
        ("items.*.colour", False),
        ("empty.*.anything", True),
        ("none.anything", True),
        ("nothing", False),
    ],
)
def test_a_path_is_refused_only_where_the_record_denies_it(path: str, leads_somewhere: bool):
    assert resolves(RECORD, path) is leads_somewhere


def test_one_element_that_has_the_name_is_enough():
    assert resolves({"items": [{"a": 1}, {"b": 2}]}, "items.*.b")


def test_a_value_is_found_by_its_path_and_nothing_is_none():
    assert get(RECORD, "price.tax.vat") == 5
    assert get(RECORD, "price.duty.vat") is None
    assert get(RECORD, "items.name") is None


names = st.sampled_from(["a", "b", "*"])
values = st.recursive(
    st.none() | st.integers(0, 9) | st.text("ab", max_size=2),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=3),
    max_leaves=12,
)


@given(st.lists(values, max_size=4), st.lists(names, min_size=1, max_size=4).map(".".join))
def test_a_column_has_the_value_of_each_record(records: list[Any], path: str):
    assert column(records, path) == [get(record, path) for record in records]
