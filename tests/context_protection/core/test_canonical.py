"""Whole records in canonical names, without empty fields."""

from context_protection.core import canonical
from context_protection.core.canonical import WholeRecord
from context_protection.core.fields import Field
from context_protection.core.shapes import ANY, Shape

SHAPE = Shape(
    row=(Field("id"), Field("status", convert=lambda status: status or "active"), Field("checkIn", "arrivalDate")),
    others=(Field("sourceStatus", "status"),),
    is_canonical=True,
)


def test_canonical_names_replace_upstreams_and_other_fields_stay():
    record = {"arrivalDate": "2026-11-20", "status": "new", "id": 1, "door": {"floor": 2}}
    assert canonical.whole(record, SHAPE) == WholeRecord(
        {"checkIn": "2026-11-20", "status": "new", "sourceStatus": "new", "id": 1, "door": {"floor": 2}}
    )


def test_a_field_that_upstream_lacks_has_the_value_that_its_conversion_gives():
    assert canonical.whole({"id": 1}, SHAPE).value == {"id": 1, "status": "active"}


def test_another_field_of_upstream_with_a_canonical_name_gives_way():
    assert canonical.whole({"id": 1, "status": "x", "checkIn": "other"}, SHAPE).value == {
        "id": 1,
        "status": "x",
        "sourceStatus": "x",
    }


def test_empty_fields_are_left_out_at_any_depth_and_counted():
    record = {"id": 1, "status": "x", "a": None, "b": {"c": "", "d": [{"e": [], "f": 0}]}, "g": {"h": None}, "i": {}}
    whole = canonical.whole(record, SHAPE)
    assert whole.value == {"id": 1, "status": "x", "sourceStatus": "x", "b": {"d": [{"f": 0}]}}
    assert whole.empty == 5


def test_elements_of_lists_stay_so_that_their_places_do_not_change():
    assert canonical.whole({"id": 1, "status": "x", "list": [None, "", {"a": None}, 0]}, SHAPE).value["list"] == [
        None,
        "",
        {},
        0,
    ]


def test_zero_and_false_are_values():
    value = {"id": 0, "status": "x", "flag": False}
    assert canonical.whole(value, SHAPE) == WholeRecord({**value, "sourceStatus": "x"})


def test_a_record_of_an_undeclared_type_stays_as_it_came():
    record = {"id": 1, "empty": None}
    assert canonical.whole(record, ANY) == WholeRecord(record)
