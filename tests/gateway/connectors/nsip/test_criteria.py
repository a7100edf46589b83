"""search_criteria: what is wrong is named by its key, before upstream is asked (N-FR-003)."""

import json

import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.nsip.criteria import CRITERIA, PROPERTIES, checked

VALID = {
    "breedGroupId": 64,
    "breedId": 640,
    "bornAfter": "2020-01-31",
    "bornBefore": "2021-01-31",
    "gender": "Male",
    "provenOnly": False,
    "status": "CURRENT",
    "flockId": "640149",
    "traitRanges": {"BWT": {"min": -1, "max": 1.5}, "NLW": {"min": 0}},
}


def test_criteria_go_to_upstream_as_they_are():
    assert checked(VALID) == VALID
    assert set(VALID) == set(CRITERIA) == set(PROPERTIES)


def test_the_clients_spelling_and_lower_case_are_understood():
    assert checked({"born_after": "2020-01-31", "gender": "male", "trait_ranges": {"bwt": {"max": 0}}}) == {
        "bornAfter": "2020-01-31",
        "gender": "Male",
        "traitRanges": {"BWT": {"max": 0}},
    }


def test_a_criterion_without_a_value_is_none():
    assert checked({"status": None}) == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("breedId", 0),
        ("breedGroupId", True),
        ("breedId", 2**31),
        ("bornBefore", "2020-02-30"),
        ("bornBefore", 2020),
        ("gender", "ram"),
        ("status", " "),
        ("traitRanges", {}),
        ("traitRanges", []),
        ("traitRanges", {"FAT": {"min": 1}}),
        ("traitRanges", {"BWT": {"min": 2, "max": 1}}),
        ("traitRanges", {"BWT": {"low": 2}}),
        ("traitRanges", {"BWT": {"min": True}}),
        ("traitRanges", {"BWT": {}}),
        ("traitRanges", {"BWT": "1 - 2"}),
    ],
)
def test_a_wrong_value_is_named_with_what_is_expected(key, value):
    with pytest.raises(InvalidArgument) as raised:
        checked({"gender": "Male"} | {key: value})
    error = raised.value
    assert (error.parameter, error.value, error.code) == (f"search_criteria.{key}", value, -32602)
    assert error.expected == CRITERIA[key].expected
    assert (
        f"Set search_criteria.{key} to {json.dumps(CRITERIA[key].example, separators=(',', ':'))}." in error.suggestion
    )


def test_an_unknown_key_is_named_with_the_one_that_was_meant():
    with pytest.raises(InvalidArgument, match=r"search_criteria has no key 'breed_di'.") as raised:
        checked({"breed_di": 640})
    assert "breedId" in raised.value.suggestion
    assert "traitRanges" in raised.value.expected


def test_dates_that_exclude_each_other_are_refused():
    with pytest.raises(InvalidArgument) as raised:
        checked({"bornAfter": "2021-01-01", "bornBefore": "2020-01-01"})
    assert raised.value.parameter == "search_criteria.bornAfter"
    assert raised.value.suggestion == "Exchange bornAfter and bornBefore."


@pytest.mark.parametrize("key", list(CRITERIA))
def test_a_suggestion_names_a_value_that_would_pass(key):
    assert checked({key: CRITERIA[key].example})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"breed_id": "640"}, {"breedId": 640}),
        ({"BORNAFTER": "2020-01-31T08:00:00"}, {"bornAfter": "2020-01-31"}),
        ({"bornAfter": "31.01.2020"}, {"bornAfter": "2020-01-31"}),
        ({"gender": "MALE", "provenOnly": "yes"}, {"gender": "Male", "provenOnly": True}),
        ({"flockId": 640149}, {"flockId": "640149"}),
        ({"traitRanges": {"bwt": {"min": "2"}}}, {"traitRanges": {"BWT": {"min": 2}}}),
    ],
)
def test_what_is_clear_is_accepted(given, meant):
    assert checked(given) == meant
