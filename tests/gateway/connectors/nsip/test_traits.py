"""Traits: all that upstream has, with accuracies in percent, whatever it says them in (ruling 27)."""

import pytest

from gateway.connectors.nsip.traits import TRAITS, top, traits_of
from tests.simulators.nsip import NsipSimulator
from tests.simulators.nsip_sheep import TRAITS as LIVE
from tests.simulators.nsip_sheep import Sheep


def trait(name: str, accuracy: float | None) -> dict:
    return {"name": name, "value": 1.5, "accuracy": accuracy, "units": None}


def test_all_sixteen_live_traits_are_read_and_in_their_order():
    row = NsipSimulator().row(Sheep(640, 7))
    assert list(traits_of(dict(reversed(row.items())))) == list(TRAITS) == [name.upper() for name in LIVE]
    assert traits_of(row)["YSL"]["value"] == row["ysl"]


@pytest.mark.parametrize("scale", [1, 100])
def test_accuracies_are_percent_whichever_way_upstream_says_them(scale):
    nsip = NsipSimulator(accuracies=scale)
    found = traits_of(nsip.row(Sheep(640, 7)))
    assert {name: each["accuracy"] for name, each in found.items()} == {
        name: round(Sheep(640, 7).accuracy(name.lower()) * 100) for name in TRAITS
    }


def test_an_accuracy_of_one_is_all_of_it_among_shares_and_one_percent_among_percents():
    assert traits_of({"bwt": 1, "accbwt": 1.0, "wwt": 1, "accwwt": 0.29})["BWT"]["accuracy"] == 100
    assert traits_of({"bwt": 1, "accbwt": 1, "wwt": 1, "accwwt": 29})["BWT"]["accuracy"] == 1


def test_no_accuracy_is_rounded_over_the_bar_or_loses_a_percent_to_arithmetic():
    found = traits_of({"bwt": 1, "accbwt": 0.496, "wwt": 1, "accwwt": 0.58, "ywt": 1, "accywt": 0.29})
    assert [each["accuracy"] for each in found.values()] == [49.6, 58, 29]


def test_an_accuracy_of_zero_stays_zero_and_an_unknown_one_stays_unknown():
    found = traits_of({"bwt": 0.1, "accbwt": 0, "wwt": 2, "accwwt": 0.5, "nlw": 3, "accnlw": None, "ysl": 4})
    assert [each["accuracy"] for each in found.values()] == [0, 50, None, None]


def test_a_trait_without_a_value_is_none_and_a_new_one_with_an_accuracy_is_one():
    found = traits_of({"bwt": None, "accbwt": 0.5, "xyz": 2.0, "accxyz": 0.25, "regNumber": "7"})
    assert found == {"XYZ": {"name": "XYZ", "value": 2.0, "accuracy": 25, "units": None}}


def test_a_number_that_is_a_text_is_one_and_what_is_none_is_no_trait():
    found = traits_of({"bwt": "0.5", "accbwt": "0.75", "wwt": "nan", "ywt": "n/a", "nlb": True, "nlw": "1e999"})
    assert found == {"BWT": {"name": "BWT", "value": 0.5, "accuracy": 75, "units": None}}


def test_the_former_shape_is_read_as_well():
    found = traits_of({"Traits": {"WWT": {"Value": 3.051, "Accuracy": 71}, "BWT": {"Value": 0.246, "Accuracy": 0}}})
    assert found == {"BWT": {**trait("BWT", 0), "value": 0.246}, "WWT": {**trait("WWT", 71), "value": 3.051}}


def test_the_best_three_are_the_surest_and_equals_stay_in_the_order_of_traits():
    traits = [trait("BWT", 50), trait("WWT", 49.9), trait("YWT", 81), trait("NLB", 81), trait("NLW", None)]
    assert [each["name"] for each in top(traits)] == ["YWT", "NLB", "BWT"]
    assert top(traits)[0] == {"name": "YWT", "value": 1.5, "accuracy": 81}
    assert top([trait("BWT", 0), trait("WWT", 49.99)]) == []
    assert len(top([trait(name, 90) for name in TRAITS])) == 3
