"""Previews keep what identifies a record, and long texts say how long they are (FR-015, FR-016, FR-018)."""

from context_protection.core import summaries
from context_protection.core.shapes import ANY, Field, Shape

SHAPE = Shape(row=(Field("id"), Field("place", "city.name")), preview=(Field("note"), Field("host", "hostName")))


def test_a_row_has_every_declared_field_also_where_upstream_has_none():
    assert summaries.rows([{"id": 1, "note": "x"}], SHAPE)[0] == {"id": 1, "place": None}


def test_a_preview_leaves_out_what_is_empty_but_keeps_zero_and_false():
    shape = Shape(row=(Field("id"), Field("pets"), Field("paid"), Field("note"), Field("gone")))
    assert summaries.preview({"id": 0, "pets": 0, "paid": False, "note": "", "gone": None}, shape) == {
        "id": 0,
        "pets": 0,
        "paid": False,
    }


def test_a_long_text_of_a_preview_names_the_upstream_field_that_gives_the_rest():
    host = "Anna lives next door. " * 40
    shown = summaries.preview({"hostName": host}, SHAPE)["host"]
    start, _, mark = shown.partition(" …[")
    assert len(start) <= summaries.TEXT_CHARS
    assert start.endswith("door.")
    assert mark == f"+{len(host) - len(start):,} of {len(host):,} characters: fields=hostName]"


def test_a_text_of_exactly_the_limit_is_not_cut():
    text = "x" * summaries.TEXT_CHARS
    assert summaries.clipped(text, "note") == text
    assert summaries.clipped(f"{text}x", "note") != f"{text}x"


def test_a_row_cuts_what_is_long_as_a_preview_does():
    shown = summaries.rows([{"id": 1, "city": {"name": "A quay. " * 100}}], SHAPE)[0]
    assert shown["place"].endswith("characters: fields=city.name]")


def test_without_fields_a_preview_is_empty():
    assert summaries.preview({"rows": [1, 2], "deep": {"a": 1}}, ANY) == {}


def test_fields_that_upstream_does_not_have_are_told_and_empty_ones_are_not():
    shape = Shape(row=(Field("id"), Field("checkInDate", "arrivalDate")), preview=(Field("note"),))
    assert summaries.missing({"id": 1, "arrival": "2026-11-20", "note": None}, shape) == ["arrivalDate"]
    assert summaries.missing({"id": 1}, shape, ["id", "other"]) == [], "a section is no field"
    chosen = ["note", "items.*.name", "checkInDate"]
    assert summaries.missing({"id": 1, "note": "", "items": [{"title": "a"}]}, shape, chosen) == [
        "items.*.name",
        "arrivalDate",
    ]


def test_a_large_list_in_a_preview_gives_way_to_its_size_and_how_to_get_it():
    record = {"id": 1, "images": [{"url": "x" * 50}] * 40, "tags": ["a", "b"]}
    preview = summaries.chosen(record, ["images", "tags"], ANY)
    assert preview["tags"] == ["a", "b"]
    assert preview["images"].startswith("…[40 entries, ")
    assert preview["images"].endswith("fields=images]")
