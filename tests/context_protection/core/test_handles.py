"""An answer with a handle stays small, also by the tokenizer's own count."""

import json

import pytest

from context_protection.core import handles, tokens
from context_protection.core.cursors import Sealer, Snapshots
from context_protection.core.payloads import AnswerRequest, Record
from context_protection.core.policy import DEFAULTS
from tests.properties.desk import DictSnapshots

REQUEST = AnswerRequest(
    "call", "me", lambda name, more: {"tool": name}, {"id": 1}, format="handle", result_operation="result_get"
)
STRANGE = "\xa0 \u3000 \t \ufeff \u2028 \u200b \n"  # a count of these is less exact than others


@pytest.mark.parametrize("name", ["guestName", STRANGE])
def test_a_count_that_is_a_little_too_low_does_not_exceed_the_limit(name: str):
    sizes = []
    for fields in range(50):
        record = Record({name: "Ada"} | {f"field{n}": "two words" for n in range(fields)})
        body = handles.answer(record, REQUEST, DEFAULTS, Snapshots(DictSnapshots(), Sealer(["x" * 40]))).body.decode()
        sizes.append(tokens.claude.count(body))
        assert tokens.exact(body) <= handles.MAX_TOKENS
    assert 0.9 * handles.MAX_TOKENS < max(sizes) <= handles.MAX_TOKENS / tokens.MARGIN


@pytest.mark.parametrize("value", ["two words", "three more words", "1 2 3"])
def test_the_number_of_columns_does_not_depend_on_the_handle(value: str):
    record = Record({f"field{n}": value for n in range(50)})
    answers = [
        json.loads(handles.answer(record, REQUEST, DEFAULTS, Snapshots(DictSnapshots(), Sealer([f"{n:040}"]))).body)
        for n in range(40)
    ]
    assert len({answer["meta"]["resultHandle"] for answer in answers}) == len(answers)
    assert len({len(answer["columns"]) for answer in answers}) == 1


@pytest.mark.parametrize("words", range(1, 5))
def test_the_number_of_columns_does_not_depend_on_the_form_of_the_hint(words: int):
    hints = [
        {"tool": "read_document", "arguments": {"id": "a.log", "startLine": 1}},
        {"resource": "sluice://documents/a.log?startLine=1"},
        {"endpoint": "/api/v1/documents/a.log", "parameters": {"startLine": 1}},
    ]
    shown = set()
    for hint in hints:
        record = Record({f"field{n}": "two " * words for n in range(50)}, note={"detailsAvailable": hint})
        body = handles.answer(record, REQUEST, DEFAULTS, Snapshots(DictSnapshots(), Sealer(["x" * 40]))).body
        shown.add(len(json.loads(body)["columns"]))
    assert len(shown) == 1
    assert 0 < shown.pop() < 20
