import json

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


BEFORE = ("[%s]", "[0,%s]", "[ %s]", "[\n%s]", "[\t%s]", "[\r%s]", '{"a":%s}', '{"a": %s}', "%s", "\n%s")


@pytest.mark.parametrize("form", BEFORE)
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**25, *SAFE])
def test_an_integer_is_exact_in_every_form_of_a_document(number: int, form: str):
    found = json_values.loads((form % number).encode())
    found = found["a"] if isinstance(found, dict) else found[-1] if isinstance(found, list) else found
    assert found == (number if number in SAFE else str(number))


def test_long_digits_of_fractions_and_texts_need_no_second_parser(monkeypatch: pytest.MonkeyPatch):
    value = {
        "share": 0.0001309607003215936,
        "card": "12345678901234567890",
        "posts": [1050118621198921728] * 3,
        "token 12345678901234567890": "token 12345678901234567890, or -1234567890123456789: 12345678901234567890\n",
    }
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("the slow parser was used"))
    assert json_values.loads(orjson.dumps(value)) == value


RUN = "12345678901234567890"
written = st.sampled_from(
    [f"{RUN}1", f"-{RUN}", RUN, f"1.{RUN}", f"{RUN}.5", "1.2345678901234567e-5", "1e30", "7", f'"a {RUN}"',
     f'"-{RUN}: {RUN}1"', f'"a \\u0031{RUN}"', f'"{RUN}"', f'"\\t{RUN}"', '"x"']
)  # fmt: skip


@example([("", f"{RUN}1"), ("", f'"a \\u0031{RUN}"')], 0)
@example([("", f"{RUN}1"), ("", "1.2345678901234567e-5")], 0)
@given(st.lists(st.tuples(st.sampled_from(["", " ", "\n", " \r\n\t"]), written)), st.sampled_from([0, 260]))
def test_numbers_are_exact_beside_long_digits_in_texts(elements: list[tuple[str, str]], levels: int):
    text = "[" * levels + "[" + ",".join(f"{space}{each}{space}" for space, each in elements) + "]" + "]" * levels
    exact = json.loads(text, parse_int=lambda digits: n if -(2**63) <= (n := int(digits)) < 2**64 else digits)
    assert json_values.loads(text.encode()) == exact


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 40))
def test_a_fraction_is_what_the_other_parser_reads(number: float, digits: int):
    text = f"[{number:.{digits}f}]"
    assert json_values.loads(text.encode()) == json.loads(text)
