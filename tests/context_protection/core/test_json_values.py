import json

import pytest

from context_protection.core import json_values

SAFE = (0, -1, 2**63 - 1, -(2**63), 2**64 - 1)


@pytest.mark.parametrize("offset", range(20))
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**25])
def test_an_integer_beyond_64_bits_is_exact_wherever_it_stands(number: int, offset: int):
    assert json_values.loads(json.dumps(["x" * offset, number]).encode()) == ["x" * offset, str(number)]


@pytest.mark.parametrize("number", SAFE)
def test_an_integer_of_64_bits_stays_a_number(number: int):
    assert json_values.loads(json.dumps([number]).encode()) == [number]


def test_long_digits_of_a_text_change_nothing():
    value = {"card": "1234567890123456789012", "times": [1764230400000, 1764230400001]}
    assert json_values.loads(json.dumps(value).encode()) == value
