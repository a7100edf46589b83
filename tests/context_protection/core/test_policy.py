"""The settings of one call, and how their layers add up (law 6, FR-027, FR-028, rulings 4 and 22)."""

from dataclasses import fields
from typing import Any

import pytest

from context_protection.core.policy import CANONICAL_NAMES, DEFAULTS, RANGES, Kind, Policy, problems, resolve


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


@pytest.mark.parametrize("name", RANGES)
def test_both_ends_of_a_range_are_in_it_and_nothing_beyond(name: str):
    low, high = RANGES[name]
    for value, fine in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
        found = [problem for problem in problems(Policy(**{name: value})) if "must be from" in problem.sentence]
        assert [problem.name for problem in found] == ([] if fine else [name])
        assert fine or CANONICAL_NAMES[name] in found[0].sentence


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


def test_every_setting_has_a_name_for_people():
    assert set(CANONICAL_NAMES) == {field.name for field in fields(Policy)}
