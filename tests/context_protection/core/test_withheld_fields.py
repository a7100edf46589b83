"""What the policy withholds is masked under all its names, whatever its value."""

import asyncio
from typing import Any

import pytest

from context_protection.core import canonical, masks, summaries
from context_protection.core.fields import Field
from context_protection.core.masks import is_withheld, withheld_in
from context_protection.core.policy import DEFAULTS
from context_protection.core.redaction import Visibility, redact
from context_protection.core.shapes import ANY, Shape
from context_protection.core.upstream_pages import PagedRows, SourcePage
from context_protection.core.withheld_fields import MASK, seen, shape_as_seen, under_all_names

SHAPE = Shape(
    row=(Field("id"), Field("state", "status", lambda status: status or "active")),
    others=(Field("mail", "contactEmail"),),
    aliases=(Field("price.base", "finance", lambda finance: finance),),
    is_canonical=True,
)


def withholding(*names: str) -> Visibility:
    return Visibility(withheld=frozenset(names))


@pytest.mark.parametrize("value", ["x", 5, 0, True, None, "", [], {}, [1], {"a": 1}])
def test_the_value_does_not_matter(value: Any):
    """Also not whether there is one."""
    record = {"note": "kept", "guestName": value}
    assert redact(record, withholding("guestName"))[0] == {"note": "kept", "guestName": MASK}


@pytest.mark.parametrize("name", ["guestName", "guest_name", "Guest name", "GUESTNAME", "stay.guestName"])
def test_a_field_is_named_as_people_write_it(name: str):
    redacted, found = redact({"stay": {"guestName": "Ada", "nights": 2}}, withholding(name))
    assert redacted == {"stay": {"guestName": MASK, "nights": 2}}
    assert [(each.path, each.kind, each.how) for each in found] == [(("stay", "guestName"), "by policy", "field")]


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [
        ({"items": [{"fee": 1}, {"fee": 2}]}, "items.*.fee", {"items": [{"fee": MASK}, {"fee": MASK}]}),
        ({"a": {"fee": 1}, "fee": 2}, "a.fee", {"a": {"fee": MASK}, "fee": 2}),
        ({"a": {"fee": 1}, "fee": 2}, ".fee", {"a": {"fee": 1}, "fee": MASK}),
        ({"name": "Shoe size", "value": 42}, "shoeSize", {"name": "Shoe size", "value": MASK}),
        ({"columns": ["id", "size"], "rows": [[1, 42]]}, "size", {"columns": ["id", "size"], "rows": [[1, MASK]]}),
        ({"pairs": [["size", 42], ["age", 7]]}, "size", {"pairs": [["size", MASK], ["age", 7]]}),
        ({"names": ["size", "age"]}, "size", {"names": ["size", "age"]}),
        ({"note": '{"size":42}'}, "size", {"note": f'{{"size":"{MASK}"}}'}),
        ({"size": {"type": "integer"}}, "size", {"size": {"type": "integer"}}),
    ],
)
def test_it_is_masked_wherever_it_stands(value: Any, name: str, shown: Any):
    assert redact(value, withholding(name))[0] == shown
    assert redact(shown, withholding(name))[0] == shown, "twice changes nothing"


def test_the_built_in_rules_stay():
    redacted, _ = redact({"doorCode": "4711", "size": 1}, withholding("size"))
    assert redacted == {"doorCode": "[withheld: door code]", "size": MASK}


def test_what_is_withheld_is_not_revealed():
    both = Visibility(frozenset({"doorCode"}), frozenset({"doorCode"}))
    assert redact({"doorCode": "4711"}, both)[0] == {"doorCode": MASK}
    assert is_withheld("doorCode", both)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("mail", ("mail", "contactEmail")),
        ("contactEmail", ("mail", "contactEmail")),
        ("finance", ("finance", "price.base")),
        ("price.base", ("finance", "price.base")),
        ("unknown", ("unknown",)),
    ],
)
def test_the_names_of_a_field_are_withheld_together(name: str, names: tuple[str, ...]):
    every = under_all_names(withholding(name), SHAPE)
    assert all(every.withholds(each.split(".")) for each in names)
    assert not any(every.withholds(each.split(".")) for each in ("id", "state", "status", "mails"))


def test_a_name_of_the_shape_is_that_of_the_record_itself_and_of_nothing_below():
    (row,) = seen([{"contactEmail": "a@b.c", "agent": {"contactEmail": "d@e.f"}}], SHAPE, withholding("mail"))
    assert row == {"contactEmail": MASK, "agent": {"contactEmail": "d@e.f"}}


@pytest.mark.parametrize("record", [{"status": "closed"}, {"status": None}, {}])
def test_a_value_that_is_made_of_another_does_not_tell_it(record: dict[str, Any]):
    """Nor its lack."""
    visibility = withholding("status")
    rows = seen([record], SHAPE, visibility)
    shape = shape_as_seen(SHAPE, visibility)
    assert canonical.renamed(rows[0], shape)["state"] == MASK
    assert summaries.rows(rows, shape, DEFAULTS)[0]["state"] == MASK
    assert shape_as_seen(shape, visibility).fields["state"].sources == ("status",)


class OneRowPages:
    """A `PageSource` of three pages, each with one row whose key is masked."""

    async def page(self, token: Any, size: int) -> SourcePage:
        number = token or 0
        return SourcePage([{"id": MASK, "name": f"row {number}"}], next=number + 1 if number < 2 else None)


def test_rows_whose_keys_are_masked_are_not_taken_for_one_row():
    async def gathered() -> PagedRows:
        rows = PagedRows(OneRowPages())
        await rows.gather_rest([await OneRowPages().page(None, 1)])
        return rows

    every = asyncio.run(gathered()).everything({"growing": True}, lambda numbers: [])
    assert [row["name"] for row in every] == ["row 0", "row 1", "row 2"]


def test_without_withheld_fields_shapes_and_names_stay_the_same():
    assert shape_as_seen(SHAPE, Visibility()) is SHAPE
    assert under_all_names(Visibility(frozenset({"doorCode"})), ANY) == Visibility(frozenset({"doorCode"}))


def test_a_mask_of_the_policy_is_named_with_who_can_change_it():
    found = withheld_in({"size": MASK, "doorCode": "[withheld: door code]"})
    assert [(each.path, each.kind, each.how) for each in found] == [
        ("size", "by policy", "field"),
        ("doorCode", "door code", "field"),
    ]
    advice = masks.advice(["size", "doorCode"], found)
    assert any(line.startswith("size: ") and "withheldFields" in line for line in advice)
    assert any(line.startswith("doorCode: ") and "Revealed fields" in line for line in advice)
