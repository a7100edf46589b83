"""The classification of an object's fields: its quick test changes nothing, and its cache is small."""

import pytest

from context_protection.core.redaction import objects, pairs, vocabulary
from context_protection.core.redaction.names import LONGEST, WHOLE
from context_protection.core.redaction.objects import Fields, fields_of
from context_protection.core.redaction.terms import CODE_NAMES


def test_fields_of_the_same_meaning_are_one_object():
    one = fields_of(("id", "name", "doorCode"), within="", custom=False)
    other = fields_of(("doorCode", "note"), within="", custom=False)
    assert one.each[0] is one.each[1] is other.each[1]
    assert one.each[2] is other.each[0]
    assert one.each[2] != one.each[0]


TABLES = (
    *vocabulary.PLACES.values(),
    *vocabulary.OF_THEIR_OWN.values(),
    *vocabulary.FIELDS_ONLY.values(),
    vocabulary.NETWORKS,
    vocabulary.CODE_WORDS,
    vocabulary.NETWORK_KEYS,
)
TERMS = sorted({term.strip() for table in TABLES for terms in table.values() for term in terms.split(",")})
NAMES = sorted({*TERMS, *WHOLE, *CODE_NAMES, *pairs.NAMES, *vocabulary.VALUE_NAMES, *vocabulary.MEASURED, "note", "7"})


def fields_below(holder: str, name: str, *, custom: bool = False) -> Fields:
    return objects._classified(tuple(dict.fromkeys((name, "value", "guest"))), holder, custom)


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("holder", ["", "door", "keypad", "api", "wifi"])
def test_a_name_that_may_mean_nothing_means_nothing(holder: str, custom: bool, monkeypatch: pytest.MonkeyPatch):
    names = [f"{before}{name}{behind}" for name in NAMES for before in ("", "my_") for behind in ("", "Of")]
    quickly = [fields_below(holder, name, custom=custom) for name in names]
    monkeypatch.setattr(objects, "_may_mean_something", lambda name: True)
    assert [fields_below(holder, name, custom=custom) for name in names] == quickly


def test_only_the_beginning_of_a_long_name_counts():
    assert 0 in fields_below("door", "valori" + "_" * LONGEST + "x").named
