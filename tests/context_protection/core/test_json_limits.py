"""What is counted in a document before it is parsed."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import json_limits
from context_protection.core.errors import InvalidArgument
from context_protection.core.json_limits import DEEPEST, MAX_VALUES

TRICKY = st.text(st.sampled_from('[]{},:"\\ \t\n/u0aé\U0001f600'), max_size=12)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TRICKY,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TRICKY, inner, max_size=6),
    max_leaves=40,
)


def values(document: Any) -> int:
    below = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return len(below) + sum(values(each) for each in below)


def levels(document: Any) -> int:
    below = document.values() if isinstance(document, dict) else document if isinstance(document, list) else None
    return 0 if below is None else 1 + max((levels(each) for each in below), default=0)


def refused(text: bytes | str) -> str:
    try:
        json_limits.check(text)
    except InvalidArgument as error:
        return error.reason
    return ""


@given(DOCUMENTS, st.sampled_from([(",", ":"), (" , ", "\t:\n")]), st.booleans())
def test_every_document_is_counted_as_its_objects_are(document: Any, separators: tuple[str, str], ascii_only: bool):
    written = json.dumps(document, separators=separators, ensure_ascii=ascii_only).encode()
    bare = json_limits._without_texts(written, "body")
    assert json_limits._values(bare) == values(document)
    deep = b"[" * (DEEPEST + 1 - levels(document)) + written + b"]" * (DEEPEST + 1 - levels(document))
    assert refused(deep) == "too_deep"
    assert refused(deep[1:-1]) == ""


SHAPES: dict[str, Callable[[int], bytes]] = {
    "names": lambda most: json.dumps({f"name {each}": each for each in range(most)}).encode(),
    "elements": lambda most: b"[" + b",".join([b"1"] * most) + b"]",
    "texts": lambda most: b"[" + b",".join([b'"[{,\\""'] * most) + b"]",
    "empty lists": lambda most: b"[" + b",".join([b"[]"] * most) + b"]",
    "objects that look alike": lambda most: b'{"a":[' + b", ".join([b"{ }"] * (most - 1)) + b"]}",
    "one name again and again": lambda most: b"{" + b",".join([b'"a":1'] * most) + b"}",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_values_as_are_allowed_are_read_and_one_more_is_refused(shape: str):
    assert refused(SHAPES[shape](MAX_VALUES)) == ""
    assert refused(SHAPES[shape](MAX_VALUES).decode()) == ""
    assert refused(SHAPES[shape](MAX_VALUES + 1)) == "too_many_values"


@pytest.mark.parametrize("text", [b'{"a":%b}', b"[%b]"])
def test_as_many_levels_as_are_allowed_are_read_and_one_more_is_refused(text: bytes):
    document = b"1"
    for _ in range(DEEPEST):
        document = text % document
    assert refused(document) == ""
    assert refused(text % document) == "too_deep"


def test_a_long_text_is_one_value_whatever_is_in_it():
    for piece in ("[", "{", ",", '\\"', "\\\\", '[\\"{,'):
        assert refused('{"text":"' + piece * 200_000 + '"}') == ""


def test_both_errors_name_their_limit():
    with pytest.raises(InvalidArgument) as many:
        json_limits.loads(SHAPES["elements"](MAX_VALUES + 1), "ids")
    assert "10,000" in many.value.message
    assert many.value.parameter == "ids"
    with pytest.raises(InvalidArgument) as deep:
        json_limits.loads("[" * 101 + "]" * 101)
    assert "100 levels" in deep.value.message


def test_what_is_no_json_is_left_to_the_parser():
    for text in (
        b"",
        b"]" * 1000,
        b"[" * 50,
        b'"' * 99,
        b"\xff",
        "\ud800",
        b'{"a":"\\',
        b"[1" + b"]" * 500 + b"[" * 99,
    ):
        json_limits.check(text)
    with pytest.raises(ValueError, match="unexpected"):
        json_limits.loads("[" * 50)


@pytest.mark.parametrize("piece", [b"[],", b"1,", b'"",', b"{},", b'"a":1,'])
def test_a_large_refused_document_makes_no_object_for_each_value(piece: bytes):
    document = b"[" + piece * (2**22 // len(piece))
    tracemalloc.start()
    assert refused(document) == "too_many_values"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * len(document)
