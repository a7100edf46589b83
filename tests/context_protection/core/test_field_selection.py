"""`fields`: names, canonical names, sections, paths, all; and errors that list what there is (FR-017)."""

from typing import Any

import pytest

from context_protection.core import field_selection
from context_protection.core.errors import InvalidArgument
from context_protection.core.fields import Field
from context_protection.core.shapes import ANY, Section, Shape
from tests.properties.desk import Desk

SHAPE = Shape(
    row=(Field("id"), Field("checkInDate", "arrivalDate")),
    sections=(Section("money", ("price", "*Fee")),),
    known=frozenset({"petFee"}),
)
RECORD = {"id": 7, "arrivalDate": "2026-11-20", "price": {"base": 90, "tax": 9}, "cityFee": 3, "lines": [{"n": 1}]}


def selected(fields: str) -> dict[str, object]:
    return field_selection.selected(RECORD, field_selection.split(fields), SHAPE).value


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("id", {"id": 7}),
        ("checkInDate", {"checkInDate": "2026-11-20"}),
        ("arrivalDate", {"arrivalDate": "2026-11-20"}),
        ("money", {"price": RECORD["price"], "cityFee": 3}),
        ("other", {"id": 7, "arrivalDate": "2026-11-20", "lines": [{"n": 1}]}),
        ("price.base", {"price": {"base": 90}}),
        ("lines.*.n", {"lines": [{"n": 1}]}),
        ("id,all", RECORD),
        (" id , , cityFee,", {"id": 7, "cityFee": 3}),
        ("petFee", {}),
    ],
)
def test_what_is_asked_for_is_given_under_the_name_it_was_asked_by(fields: str, expected: dict[str, object]):
    assert selected(fields) == expected


def test_names_come_in_the_order_in_which_they_were_asked():
    assert list(selected("cityFee,id")) == ["cityFee", "id"]


@pytest.mark.parametrize("fields", ["", " ", ",", " , ,"])
def test_fields_without_a_name_are_refused(fields: str):
    with pytest.raises(InvalidArgument) as refused:
        field_selection.split(fields)
    assert refused.value.reason == "invalid_fields"


def test_a_name_that_is_asked_twice_is_one():
    assert field_selection.split("id,id, id") == ["id"]


@pytest.mark.parametrize(
    "fields", ["x" * (field_selection.MAX_CHARS + 1), ",".join(map(str, range(field_selection.MAX_NAMES + 1)))]
)
def test_more_fields_than_can_be_looked_for_in_every_row_are_refused(fields: str):
    with pytest.raises(InvalidArgument) as refused:
        field_selection.split(fields)
    assert (refused.value.reason, refused.value.parameter) == ("invalid_fields", "fields")
    assert field_selection.split(fields.rpartition(",")[0] or fields[1:])


@pytest.mark.parametrize("name", ["cityfees", "price.bas", "lines.n", "id.x", "lines.*.m"])
def test_a_name_that_does_not_exist_is_refused_with_those_that_do(name: str):
    with pytest.raises(InvalidArgument) as refused:
        field_selection.resolved(["id", name], [RECORD], SHAPE)
    error = refused.value
    assert error.value == name
    for valid in ("checkInDate", "arrivalDate", "money", "other", "cityFee"):
        assert valid in error.expected


@pytest.mark.parametrize(
    ("given", "name"),
    [("cityfee", "cityFee"), ("city_fee", "cityFee"), ("CHECKINDATE", "checkInDate"), ("PRICE.base", "price.base")],
)
def test_a_name_is_found_whatever_its_case(given: str, name: str):
    record = {**RECORD, "price": {"base": 1}}
    assert field_selection.resolved([given, "id"], [record], SHAPE) == [name, "id"]


def test_an_exact_name_comes_before_one_that_differs_in_case():
    assert field_selection.resolved(["ID"], [{"id": 1, "ID": 2}], ANY) == ["ID"]
    with pytest.raises(InvalidArgument):
        field_selection.resolved(["iD"], [{"id": 1, "ID": 2}], ANY)


@pytest.mark.parametrize("fields", ["*", "ALL", "id,*", '["all"]'])
def test_all_has_other_spellings(fields: str):
    assert field_selection.split(fields) == ["all"]


def test_a_json_list_of_names_is_read():
    assert field_selection.split('["id", "status"]') == ["id", "status"]


def test_a_documented_name_is_valid_where_a_record_lacks_it():
    field_selection.resolved(["petFee"], [RECORD], SHAPE)


def test_one_row_that_knows_the_name_is_enough():
    field_selection.resolved(["extra"], [{"id": 1}, {"id": 2, "extra": True}], ANY)


def test_of_an_empty_list_of_an_unknown_type_anything_may_be_asked():
    field_selection.resolved(["anything"], [], ANY)


def test_an_error_stays_small_however_long_upstreams_names_are():
    desk = Desk([{"id": 1, **{f"name{n}" * 100: n for n in range(150)}}])
    with pytest.raises(InvalidArgument) as refused:
        desk("get", {"id": 1, "fields": "nope"})
    assert len(str(refused.value.document())) < 10_000


def test_a_mistyped_name_is_answered_with_the_nearest():
    with pytest.raises(InvalidArgument) as refused:
        field_selection.resolved(["chekInDate"], [RECORD], SHAPE)
    assert refused.value.suggestion == "Set fields to checkInDate."


@pytest.mark.parametrize(
    ("record", "fields"), [({"a,b": 3}, "a,b"), ({"[a]": 3}, "[a]"), ({" a": 3}, " a,b"), ({"[a": 3}, "a")]
)
def test_an_error_offers_no_name_that_fields_cannot_name(record: dict[str, Any], fields: str):
    with pytest.raises(InvalidArgument) as refused:
        field_selection.resolved(field_selection.split(fields), [record], ANY)
    assert refused.value.suggestion == "Set fields to all, or choose from those listed."
    assert refused.value.expected.startswith("all, or any of: other; a.b for a field within a")


ALIASES = Shape(
    aliases=(Field("price.basePrice", "price"), Field("price.total", "total"), Field("a.x", "x"), Field("a.c", "y"))
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("price", {"price": 120}),
        ("price.basePrice", {"price": {"basePrice": 120}}),
        ("price.basePrice,price.total", {"price": {"basePrice": 120, "total": 150}}),
        ("price,price.basePrice", {"price": 120, "price.basePrice": 120}),
        ("price.basePrice,price", {"price": 120, "price.basePrice": 120}),
        ("a.x,a.b", {"a": {"x": 9, "b": 1}}),
        ("a.b,a.x", {"a": {"x": 9, "b": 1}}),
        ("a,a.x", {"a": {"b": 1, "c": 2, "x": 9}}),
        ("a,a.c", {"a": {"b": 1, "c": 2}, "a.c": 8}),
    ],
)
def test_a_canonical_name_with_a_dot_and_other_values_under_its_first_name_are_all_given(
    fields: str, expected: dict[str, Any]
):
    record = {"price": 120, "total": 150, "x": 9, "y": 8, "a": {"b": 1, "c": 2}}
    assert field_selection.selected(record, field_selection.split(fields), ALIASES).value == expected


def test_a_path_keeps_its_place_among_the_asked_names():
    record = {"lines": [{"name": "tax", "n": 1}], "id": 7}
    assert list(field_selection.selected(record, ["id", "lines.*.name"], ANY).value) == ["id", "lines"]
    whole = field_selection.selected(record, ["lines", "lines.*.name"], ANY).value["lines"]
    assert whole == record["lines"], "a whole wins over its parts"


@pytest.mark.parametrize("names", [["all"], ["raw"], ["id", "b"], ["nosuch"]])
@pytest.mark.parametrize("is_canonical", [False, True])
def test_rows_are_selected_together_as_each_of_them_is(names: list[str], is_canonical: bool):
    shape = Shape(row=(Field("id"), Field("b", "a.b", str)), is_canonical=is_canonical)
    records: list[dict[str, Any]] = [{"id": 1, "a": {"b": 2, "c": None}}, {}, {"id": None, "note": ""}]
    rows, empty = field_selection.selected_rows(records, names, shape)
    each = [field_selection.selected(record, names, shape) for record in records]
    assert (rows, empty) == ([one.value for one in each], sum(one.empty for one in each))
    assert all(row is not record for row, record in zip(rows, records, strict=True))
