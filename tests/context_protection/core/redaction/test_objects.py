"""The classification of an object's fields: its quick test changes nothing, and its cache is small."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.core.redaction import objects, pairs, redact, vocabulary
from context_protection.core.redaction.folding import LONGEST_NAME
from context_protection.core.redaction.names import WHOLE
from context_protection.core.redaction.objects import Fields, fields_of
from context_protection.core.redaction.quick_names import may_mean_something
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
FIRST_WORDS = {re.split(r"\W", term)[0] for term in TERMS}
NAMES = sorted(
    {
        *TERMS,
        *FIRST_WORDS,
        *WHOLE,
        *CODE_NAMES,
        *pairs.NAMES,
        *vocabulary.VALUE_NAMES,
        *vocabulary.MEASURED,
        "note",
        "7",
    }
)


def fields_below(holder: str, name: str, *, custom: bool = False) -> Fields:
    return objects._classified(tuple(dict.fromkeys((name, "value", "guest"))), holder, custom)


def spellings(name: str) -> Iterator[str]:
    """A name in forms that split its words in other places, or add words."""
    middle = len(name) // 2
    yield from (name, f"my_{name}", f"{name}Of_", f"my{name.title()}", f"MY{name.title()}", f"{name}_", name.upper())
    yield f"{name[:-1].upper()}{name[-1:]}"
    for at in (1, 2, middle):
        yield from (f"{name[:at]}{between}{name[at:]}" for between in ("_", "__", "\u200b", "\n"))


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("holder", ["", "door", "keypad", "api", "wifi", "tokens"])
def test_a_name_that_may_mean_nothing_means_nothing(holder: str, custom: bool, monkeypatch: pytest.MonkeyPatch):
    names = [spelling for name in NAMES for spelling in spellings(name)]
    quickly = [fields_below(holder, name, custom=custom) for name in names]
    monkeypatch.setattr(objects, "may_mean_something", list)
    assert [fields_below(holder, name, custom=custom) for name in names] == quickly


def test_a_name_of_another_script_means_what_its_words_mean(monkeypatch: pytest.MonkeyPatch):
    names = ("код_code", "codé", "ｄｏｏｒＣｏｄｅ", "co\u0301digo maestro", "門コード", "«door» code", "")
    quickly = [fields_below("door", name) for name in names]
    monkeypatch.setattr(objects, "may_mean_something", list)
    assert [fields_below("door", name) for name in names] == quickly


@pytest.mark.parametrize(
    "value",
    [
        {"door": {"CODEs": ["4711"]}},
        {"smartlockId": 7, "cODES": 4711},
        {"keypad": {"co\u200bdes": 4711}},
        {"wifi": {"di_gits": "47110815"}},
        {"tokens": {"PINs": ["4711"]}},
        {"user": {"secret": {"code": "Geheim-4711"}}},
        {"\u212bpin": "4711", "Menu\u0301": 1},
    ],
)
def test_a_name_that_is_split_in_a_strange_place_is_redacted(value: dict[str, Any]):
    for rows in (value, [value] * 20):
        assert "4711" not in str(redact(rows)[0])


def test_names_are_tested_together_as_each_alone():
    names = [spelling for name in NAMES for spelling in spellings(name)]
    assert may_mean_something(names) == [name for name in names if may_mean_something([name])]


def test_names_with_line_breaks_are_told_apart():
    assert may_mean_something(["note", "a\nb", "\n", "doorCode", "front\ndoor"]) == ["doorCode", "front\ndoor"]


def test_most_names_of_a_map_mean_nothing():
    assert may_mean_something([f"{word}-{n}" for word in ("user", "guest", "id", "wombat") for n in range(50)]) == []


def test_only_the_beginning_of_a_long_name_counts():
    assert 0 in fields_below("door", "valori" + "_" * LONGEST_NAME + "x").named


def test_custom_fields_are_not_searched_together_with_other_objects():
    assert fields_below("", "customFields").plain == {1, 2}
    others = {f"part{n}": {"name": "wall", "count": n} for n in range(30)}
    assert "4711" not in str(redact({**others, "customFields": {"code_1": "4711"}})[0])
