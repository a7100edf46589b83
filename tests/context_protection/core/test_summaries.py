"""Previews keep what identifies a record, and long texts say how long they are (FR-015, FR-016, FR-018)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from context_protection.core import summaries
from context_protection.core.fields import Field
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.core.shapes import ANY, Shape

SHAPE = Shape(row=(Field("id"), Field("place", "city.name")), preview=(Field("note"), Field("host", "hostName")))


def test_a_row_has_every_declared_field_also_where_upstream_has_none():
    assert summaries.rows([{"id": 1, "note": "x"}], SHAPE, DEFAULTS)[0] == {"id": 1, "place": None}


def test_a_preview_leaves_out_what_is_empty_but_keeps_zero_and_false():
    shape = Shape(row=(Field("id"), Field("pets"), Field("paid"), Field("note"), Field("gone")))
    assert summaries.preview({"id": 0, "pets": 0, "paid": False, "note": "", "gone": None}, shape, DEFAULTS) == {
        "id": 0,
        "pets": 0,
        "paid": False,
    }


def test_a_long_text_of_a_preview_names_the_field_that_gives_the_rest():
    host = "Anna lives next door. " * 40
    shown = summaries.preview({"hostName": host}, SHAPE, DEFAULTS)["host"]
    start, _, mark = shown.partition(" …[")
    assert len(start) <= 240
    assert start.endswith("door.")
    assert mark == f"+{len(host.split()) - len(start.split()):,} of {len(host.split()):,} words: fields=host]"


def test_a_text_of_exactly_the_limit_is_not_cut():
    text = "x" * 240
    assert summaries.reduced(text, "note", DEFAULTS) == text
    assert summaries.reduced(f"{text}x", "note", DEFAULTS) != f"{text}x"


def test_a_row_cuts_what_is_long_as_a_preview_does():
    shown = summaries.rows([{"id": 1, "city": {"name": "A quay. " * 100}}], SHAPE, DEFAULTS)[0]
    assert shown["place"].endswith("words: fields=place]")


@pytest.mark.parametrize("chosen", ["", "note", "all", "raw", "*"])
def test_a_preview_does_not_change_the_record(chosen: str):
    record = {"id": 1, "note": "A quay. " * 100, "empty": ""}
    shape = Shape(row=(Field("id"),), preview=(Field("note"),))
    summaries.preview(record, shape, Policy(summary_fields=chosen))
    assert record == {"id": 1, "note": "A quay. " * 100, "empty": ""}


def test_without_fields_a_preview_is_empty():
    assert summaries.preview({"rows": [1, 2], "deep": {"a": 1}}, ANY, DEFAULTS) == {}


def test_fields_that_upstream_does_not_have_are_told_and_empty_ones_are_not():
    shape = Shape(row=(Field("id"), Field("checkInDate", "arrivalDate")), preview=(Field("note"),))
    record = {"id": 1, "arrival": "2026-11-20", "note": None}
    assert summaries.missing(record, shape, DEFAULTS, ["id"]) == ["arrivalDate"]
    sections = Policy(summary_fields="id,other")
    assert summaries.missing({"id": 1}, shape, sections, ["id"]) == [], "a section is no field"
    chosen = Policy(summary_fields="note, items.*.name, checkInDate")
    record = {"id": 1, "note": "", "items": [{"title": "a"}]}
    assert summaries.missing(record, shape, chosen, ["id"]) == ["items.*.name", "arrivalDate"]


def test_a_large_list_in_a_preview_gives_way_to_its_size_and_how_to_get_it():
    record = {"id": 1, "images": [{"url": "x" * 50}] * 40, "tags": ["a", "b"]}
    preview = summaries.preview(record, ANY, Policy(summary_fields="images,tags"))
    assert preview["tags"] == ["a", "b"]
    assert preview["images"].startswith("…[40 entries, ")
    assert preview["images"].endswith("fields=images]")


class Markup(str):
    """A text of a framework's own type."""


@pytest.mark.parametrize("value", ["A quay. " * 100, Markup("A quay. " * 100), ["x" * 50] * 40, {"a": "x" * 2000}])
def test_a_value_is_made_smaller_alike_in_previews_and_rows_also_of_a_derived_type(value: Any):
    shown = summaries.reduced(value, "note", DEFAULTS)
    assert shown.endswith(": fields=note]")
    shape = Shape(row=(Field("id"), Field("note")))
    records = [{"id": 1, "note": value}, {"id": 2, "note": None}]
    assert summaries.rows(records, shape, DEFAULTS) == [{"id": 1, "note": shown}, {"id": 2, "note": None}]
    assert summaries.preview(records[0], shape, DEFAULTS)["note"] == shown


def test_rows_have_the_fields_that_ops_chose_beside_those_that_identify():
    shape = Shape(row=(Field("id"), Field("city")), withheld_in_lists=("code",))
    records = [{"id": 1, "city": "Graz", "nights": 3, "code": "4711"}]
    assert summaries.rows(records, shape, Policy(summary_fields="nights, code")) == [{"id": 1, "nights": 3}]
    assert summaries.rows(records, shape, DEFAULTS) == [{"id": 1, "city": "Graz"}]


SHORT, LONG = "A quay", "A quay. " * 400
LARGE: Mapping[type, Sequence[Any]] = {
    str: [LONG, "x" * 3000, f"data:image/png;base64,{'iVBORw0KGgo' * 100}"],
    dict: [{"text": LONG}, {f"name{number}": number for number in range(300)}, {"within": {"text": LONG}}],
    list: [[LONG], [SHORT] * 300, list(range(1000)), [{"name": SHORT}] * 300],
}


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in LARGE.items() for value in values])
def test_a_smaller_value_says_how_to_get_the_whole_one(kind: type, value: Any):
    shown = summaries.reduced(value, "guest.note", DEFAULTS)
    assert isinstance(value, kind)
    assert shown != value
    assert "fields=guest.note]" in json.dumps(shown)


def test_every_reduction_is_tried_with_large_values():
    assert LARGE.keys() == summaries.REDUCTIONS.keys()
