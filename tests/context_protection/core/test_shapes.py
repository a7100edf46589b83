"""Shapes: sections that cover a record, and what lists leave out (law 2)."""

from dataclasses import replace
from typing import Any

import pytest

from context_protection.core.field_selection import selected
from context_protection.core.fields import Field
from context_protection.core.shapes import (
    ANY,
    MOST_NAMES,
    REST_OF_THE_RECORD,
    Section,
    Shape,
)

SHAPE = Shape(
    name="order",
    row=(Field("id"), Field("total", "price.total"), Field("state", convert=str.upper)),
    preview=(Field("note"),),
    sections=(Section("money", ("price", "*Fee")), Section("guest", ("guest*", "cleaningFee"))),
    withheld_in_lists=("guestPhone",),
)


def test_the_first_section_that_matches_a_field_has_it():
    assert SHAPE.section_of("cleaningFee") == "money"
    assert SHAPE.section_of("guestName") == "guest"
    assert SHAPE.section_of("colour") == REST_OF_THE_RECORD


def test_the_section_of_a_name_is_looked_for_once(monkeypatch: pytest.MonkeyPatch):
    shape = replace(SHAPE)
    found = {name: shape.section_of(name) for name in ("price", "guestName", "colour")}
    monkeypatch.setattr(Section, "matches", None)
    assert {name: shape.section_of(name) for name in found} == found


def test_names_that_are_data_are_not_all_remembered():
    shape = replace(SHAPE)
    assert {shape.section_of(f"guest{n}") for n in range(3 * MOST_NAMES)} == {"guest"}
    assert len(shape._sections) <= MOST_NAMES


def test_names_match_by_case():
    assert SHAPE.section_of("cleaningfee") == REST_OF_THE_RECORD


def test_the_sections_together_are_the_record_and_share_no_field():
    record = {"id": 1, "price": {}, "cleaningFee": 2, "guestName": "x", "colour": "red"}
    fields = [name for names in SHAPE.in_sections(record).values() for name in names]
    assert sorted(fields) == sorted(record)


def test_without_sections_all_of_a_record_is_the_rest():
    assert ANY.in_sections({"id": 1, "images": [1]}) == {REST_OF_THE_RECORD: ["id", "images"]}
    assert ANY.in_sections({"id": 1, "other": 2}) == {"_other": ["id", "other"]}


def test_a_field_called_like_a_declared_section_does_not_hide_the_section():
    shape = Shape(sections=(Section("guest", ("guest*",)),))
    record = {"guestName": "Ann", "guest": 7, "id": 1}
    assert shape.in_sections(record) == {"_guest": ["guestName", "guest"], "other": ["id"]}
    assert selected(record, ["_guest"], shape).value == {"guestName": "Ann", "guest": 7}


def test_records_with_other_names_have_sections_of_their_own():
    shape = Shape(sections=(Section("guest", ("guest*",)),))
    for _ in range(2):
        assert shape.in_sections({"guestName": "Ann", "id": 1}) == {"guest": ["guestName"], "other": ["id"]}
        assert shape.in_sections({"id": 1, "guestName": "Ann"}) == {"other": ["id"], "guest": ["guestName"]}
        assert shape.in_sections({"id": 1}) == {"other": ["id"]}


def test_a_section_that_is_one_field_may_have_its_name():
    shape = Shape(sections=(Section("guest", ("guest*",)),))
    assert shape.in_sections({"guest": 7, "id": 1}) == {"guest": ["guest"], "other": ["id"]}


def test_sections_that_would_be_called_the_same_stay_apart():
    shape = Shape(sections=(Section("guest", ("guest*",)), Section("_guest", ("host*",))))
    record = {"guestName": "Ann", "guest": 7, "hostName": "Bo"}
    assert shape.in_sections(record) == {"_guest": ["guestName", "guest"], "__guest": ["hostName"]}


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("guest*", "guestName", True),
        ("*Name", "guestName", True),
        ("cc[NE]*", "ccName", True),
        ("cc[NE]*", "ccAddress", False),
        ("guest", "guestName", False),
        ("a[*]b", "a*b", True),
        ("a*", "a\nb", True),
    ],
)
def test_a_pattern_is_a_whole_name_in_which_a_star_is_anything(pattern: str, name: str, matches: bool):
    assert Section("some", (pattern, "nothing*like*this")).matches(name) is matches


def test_what_only_a_record_shows_is_taken_out_of_lists_at_any_depth_and_named_by_its_paths():
    record = {"id": 1, "guestPhone": "+49 30 1", "more": {"GuestPhone": 5}, "rooms": [{"guestPhone": "x", "n": 1}]}
    kept, removed = SHAPE.as_row(record)
    assert kept == {"id": 1, "more": {}, "rooms": [{"n": 1}]}
    assert removed == ["guestPhone", "more.GuestPhone", "rooms.*.guestPhone"]
    assert record["guestPhone"] == "+49 30 1"


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_what_has_no_value_is_seen_to_have_none(nothing: Any):
    assert SHAPE.as_row({"guestPhone": nothing}) == ({"guestPhone": nothing}, [])


@pytest.mark.parametrize("value", [0, False])
def test_zero_and_false_are_values(value: Any):
    assert SHAPE.as_row({"guestPhone": value}) == ({}, ["guestPhone"])


def test_a_canonical_field_reads_where_upstream_keeps_it():
    record = {"price": {"total": 90}, "state": "new"}
    assert SHAPE.canonical["total"].read(record) == 90
    assert SHAPE.canonical["state"].read(record) == "NEW"
    assert SHAPE.canonical["note"].read(record) is None
