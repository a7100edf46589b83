"""The cache of objects' fields is small, however many different objects there are."""

from context_protection.core.redaction.objects import fields_of


def test_fields_of_the_same_meaning_are_one_object():
    one = fields_of(("id", "name", "doorCode"), within="", custom=False)
    other = fields_of(("doorCode", "note"), within="", custom=False)
    assert one.each[0] is one.each[1] is other.each[1]
    assert one.each[2] is other.each[0]
    assert one.each[2] != one.each[0]
