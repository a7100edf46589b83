"""A setting is declared once, and whatever its declaration lacks is an error at import."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from context_protection.core.policy import SETTINGS
from context_protection.core.setting import Setting, SettingGroup, setting, settings_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Sample:
    most_rows: int = setting(500, range=(1, 2000), group=SettingGroup.PAGES, help="Rows.")
    first_colour: Colour = setting(
        Colour.RED, choices={"red": "Red", "blue": "Blue"}, group=SettingGroup.PAGES, help="It."
    )
    bright: bool = setting(False, one_operation_only=True, group=SettingGroup.SWITCHES, help="Light.")
    title: str = setting("", group=SettingGroup.TEXTS, help="Words.")


SAMPLE = settings_of(Sample)


def test_a_field_is_a_setting_with_its_name_type_and_default():
    assert Sample() == Sample(500, Colour.RED, False, "")
    assert [(each.name, each.value_type, each.default) for each in SAMPLE.values()] == [
        ("most_rows", int, 500),
        ("first_colour", Colour, Colour.RED),
        ("bright", bool, False),
        ("title", str, ""),
    ]


def test_the_names_for_people_and_for_the_environment_follow_from_the_name():
    assert [each.canonical_name for each in SAMPLE.values()] == ["mostRows", "firstColour", "bright", "title"]
    assert [each.variable for each in SAMPLE.values()] == ["MOST_ROWS", "FIRST_COLOUR", None, "TITLE"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("most_rows", 0, "mostRows is 0; it must be from 1 to 2,000."),
        ("most_rows", 20_000, "mostRows is 20,000; it must be from 1 to 2,000."),
        ("most_rows", "5", "mostRows is '5'; it must be a whole number from 1 to 2,000."),
        ("most_rows", True, "mostRows is True; it must be a whole number from 1 to 2,000."),
        ("most_rows", None, "mostRows is None; it must be a whole number from 1 to 2,000."),
        ("first_colour", "green", "firstColour is 'green'; it must be one of: red, blue."),
        ("first_colour", [], "firstColour is []; it must be one of: red, blue."),
        ("bright", "yes", "bright is 'yes'; it must be true or false."),
        ("title", 5, "title is 5; it must be a text."),
        ("title", None, "title is None; it must be a text."),
    ],
)
def test_an_invalid_value_is_named_with_what_is_expected(name: str, value: Any, sentence: str):
    problem = SAMPLE[name].problem(value)
    assert problem is not None
    assert (problem.name, problem.sentence) == (name, sentence)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("most_rows", 1),
        ("most_rows", 2000),
        ("first_colour", "blue"),
        ("bright", True),
        ("title", ""),
    ],
)
def test_a_valid_value_is_no_problem(name: str, value: Any):
    assert SAMPLE[name].problem(value) is None


def test_a_value_is_shown_as_people_write_it():
    assert SAMPLE["most_rows"].shown(1500) == "1,500"
    assert [SAMPLE["bright"].shown(value) for value in (True, False)] == ["on", "off"]
    assert [SAMPLE["title"].shown(value) for value in ("", "x")] == ["–", "x"]


@pytest.mark.parametrize(
    ("annotation", "default", "declared", "words"),
    [
        (int, 5, {}, "needs a range"),
        (bool, True, {"range": (0, 1)}, "needs a range if it is a whole number, and only then"),
        (Colour, Colour.RED, {"choices": {"red": "Red"}}, r"needs choices for the values \['red', 'blue'\]"),
        (str, "", {"choices": {"red": "Red"}}, "needs choices for the values"),
        (int, 5, {"range": (9, 10)}, "has the invalid default 5"),
        (int, None, {"range": (1, 10)}, "has the invalid default None"),
        (int, 5, {"range": (1, 10), "by_kind": {"record": 11}}, "has the invalid default 11"),
    ],
)
def test_an_incomplete_declaration_is_an_error(annotation: Any, default: Any, declared: dict[str, Any], words: str):
    with pytest.raises(TypeError, match=f"The setting odd {words}"):
        Setting(name="odd", value_type=annotation, default=default, group=SettingGroup.TIME, help="Odd.", **declared)


def test_a_field_that_is_no_declared_setting_is_an_error():
    @dataclass
    class Forgotten:
        size: int = 5

    with pytest.raises(TypeError, match="The setting size is declared without default, help, group"):
        settings_of(Forgotten)


def test_a_name_that_another_setting_has_as_an_alias_is_an_error():
    @dataclass
    class Ambiguous:
        rows: int = setting(5, range=(1, 9), group=SettingGroup.PAGES, help="Rows.", aliases=("pageSize", "page_size"))
        page_size: int = setting(5, range=(1, 9), group=SettingGroup.PAGES, help="The size of a page.")

    with pytest.raises(TypeError, match="same name or alias: pageSize, page_size"):
        settings_of(Ambiguous)


@pytest.mark.parametrize("each", [each for each in SETTINGS.values() if each.range], ids=lambda each: each.name)
def test_both_ends_of_a_range_are_in_it_and_nothing_beyond(each: Setting):
    low, high = each.range or (0, 0)
    accepted = [value for value in (low - 1, low, high, high + 1) if each.problem(value) is None]
    assert accepted == [low, high]


def test_every_setting_explains_itself_in_whole_sentences():
    assert [each.name for each in SETTINGS.values() if not (each.help[0].isupper() and each.help.endswith("."))] == []
