"""The settings of one call, and how their layers add up (law 6, FR-027, FR-028, rulings 4 and 22)."""

from typing import Any

import jsonschema_rs
import pytest

from context_protection.core.policy import DEFAULTS, SETTINGS, Kind, Policy, RulerName, problems, resolve
from context_protection.core.setting import Setting


def test_the_shipped_values_are_those_of_the_seeds():
    assert Policy(50, 200, 4000, 12000, 200, 2000) == DEFAULTS
    assert problems(DEFAULTS) == []


def test_a_record_has_a_threshold_of_its_own():
    assert resolve(Kind.RECORD, []).token_budget_threshold == 2000
    for kind in (Kind.LIST, Kind.TEXT, Kind.ACTION):
        assert resolve(kind, []) == DEFAULTS


def test_the_strongest_layer_that_says_something_wins():
    weak, strong = {"hard_cap": 5000, "chunk_size": 10}, {"hard_cap": 6000, "chunk_size": None}
    policy = resolve(Kind.LIST, [weak, strong])
    assert (policy.hard_cap, policy.chunk_size) == (6000, 10)


@pytest.mark.parametrize("value", [False, 0])
def test_off_and_zero_are_set_and_not_inherited(value: Any):
    assert resolve(Kind.LIST, [{"pagination": True}, {"pagination": value}]).pagination == value


def test_a_layer_for_all_covers_the_default_of_a_type():
    assert resolve(Kind.RECORD, [{"token_budget_threshold": 3000}]).token_budget_threshold == 3000


@pytest.mark.parametrize(
    ("settings", "name", "words"),
    [
        ({"hard_cap": 3000}, "hard_cap", "Raise hardCap or lower tokenBudgetThreshold"),
        ({"default_page_size": 201}, "default_page_size", "Lower defaultPageSize or raise maxPageSize"),
    ],
)
def test_settings_that_contradict_each_other_are_found(settings: dict[str, Any], name: str, words: str):
    (problem,) = problems(Policy(**settings))
    assert problem.name == name
    assert words in problem.sentence


def test_equal_is_no_contradiction():
    assert problems(Policy(hard_cap=4000, default_page_size=200)) == []


def test_an_invalid_value_is_found_before_a_contradiction():
    (problem,) = problems(Policy(hard_cap="12000"))  # type: ignore[arg-type]
    assert problem.sentence == "hardCap is '12000'; it must be a whole number from 1,000 to 25,000."


def test_a_text_becomes_the_ruler_that_it_names():
    assert resolve(Kind.LIST, [{"ruler": "claude"}]).ruler is RulerName.CLAUDE
    (problem,) = problems(resolve(Kind.LIST, [{"ruler": "x"}]))
    assert problem.sentence == "ruler is 'x'; it must be one of: formula, claude."


def test_every_kind_with_a_default_of_its_own_exists():
    assert {kind for each in SETTINGS.values() for kind in each.by_kind} <= set(Kind)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("phone", {"phone"}),
        (" phone , guest.email,Alarm code ,items.*.note", {"phone", "guest.email", "Alarm code", "items.*.note"}),
        ("none", set()),
        ("none, phone", {"none", "phone"}),
    ],
)
def test_withheld_fields_are_names_with_commas_between_them(text: str, names: set[str]):
    assert SETTINGS["withheld_fields"].problem(text) is None
    assert Policy(withheld_fields=text).withheld == names


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("phone,", "''"),
        ("phone;email", "'phone;email'"),
        ("phone, a=b", "'a=b'"),
        ("a..b, c", "'a..b'"),
        (".email", "'.email'"),
        ("-", "'-'"),
        ("x" * 101, "'xxx"),
    ],
)
def test_a_name_that_no_field_can_have_is_named(text: str, wrong: str):
    problem = SETTINGS["withheld_fields"].problem(text)
    assert problem is not None
    assert problem.sentence.startswith(f"withheldFields has the name {wrong}")
    assert "such as guestPhone" in problem.sentence


def test_rollouts_change_neither_what_is_withheld_nor_what_belongs_to_one_operation():
    assert {name for name, each in SETTINGS.items() if not each.is_for_trials} == {
        "withheld_fields",
        "sections",
        "summary_fields",
    }


# -- The JSON Schema of a setting -------------------------------------------------------------------

ODD: list[Any] = [None, True, False, "", "x", "5", "formula", "table", RulerName.CLAUDE, [], {}, 0.5, -1, 0, 10**12]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_schema_accepts_what_the_policy_accepts(setting: Setting):
    low, high = setting.range or (0, 0)
    values = [*ODD, low - 1, low, high, high + 1]
    accepted = [value for value in values if jsonschema_rs.is_valid(setting.schema(), value)]
    assert accepted == [value for value in values if setting.problem(value) is None]
    assert accepted
