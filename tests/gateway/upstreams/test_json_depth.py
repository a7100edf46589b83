"""Documents that are too deep are rejected, or cut where they are."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.upstreams import json_depth
from gateway.upstreams.errors import UpstreamGarbled

TEXTS = st.text(st.sampled_from('[]{}\\"a, \n'))
DOCUMENTS = st.recursive(
    TEXTS | st.integers(-(2**63), 2**64 - 1) | st.none(),  # what orjson writes
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=30,
)


def pruned(value: Any, levels: int) -> Any:
    if not isinstance(value, (list, dict)):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [pruned(each, levels - 1) for each in value]
    return {name: pruned(each, levels - 1) for name, each in value.items()}


@given(document=DOCUMENTS, levels=st.integers(0, 5), is_spaced=st.booleans())
def test_what_begins_too_deep_becomes_null_and_nothing_else_changes(document: Any, levels: int, is_spaced: bool):
    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 if is_spaced else None)
    assert orjson.loads(json_depth.cut(data, levels)) == pruned(document, levels + 1)


def depth(value: Any) -> int:
    below = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, below), default=0) if isinstance(value, (list, dict)) else 0


@given(document=DOCUMENTS, levels=st.integers(0, 5))
@example(document=[[]] * 20, levels=2)
@example(document=[[[[]]], "a" * 20], levels=3)
@example(document=["a" * 20, [[[]]]], levels=3)
@example(document=[{"a": {"a": {}}}, "a" * 40], levels=3)
@example(document=["a" * 40, {"a": {"a": {}}}], levels=3)
def test_a_document_is_parsed_unless_it_is_too_deep(document: Any, levels: int):
    data = orjson.dumps(document)
    if depth(document) <= levels:
        assert json_depth.loads(data, levels=levels) == document
        return
    with pytest.raises(UpstreamGarbled) as error:
        json_depth.loads(data, levels=levels)
    assert error.value.reason == json_depth.TOO_DEEP


@pytest.mark.parametrize("data", [b"]]][[[", b'["never ends', b'["ends \\', b"[[[[", b"[[[]", b"{}{[[[]]]}"])
def test_what_is_no_json_stays_none(data: bytes):
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(json_depth.cut(data, 1))


@pytest.mark.parametrize("piece", [b'\\"', b"\\", b'"', b"[", b"[]", b"x"])
def test_no_document_takes_long(piece: bytes):
    began = time.process_time()
    json_depth.cut(b'["' + piece * 500_000, 100)
    json_depth.cut(b"[" + piece * 500_000, 100)
    assert time.process_time() - began < 5
