"""An error tells its caller what to do next, repeats nothing long, and says nothing of ours."""

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import tokens
from context_protection.core.errors import (
    CODES,
    SHOWN_VALUE_CHARS,
    CallError,
    CondensingFailed,
    InternalError,
    InvalidArgument,
    InvalidHandle,
    NotFound,
    OverBudget,
    TooSlow,
    invalid_cursor,
    store_unavailable,
)
from context_protection.core.policy import SETTINGS
from context_protection.core.query.corrections import Correctable
from gateway.process.errors import body_too_large, no_free_slot
from gateway.upstreams.errors import UpstreamError, UpstreamTooSlow


def test_it_says_what_was_wrong_what_is_expected_and_what_to_do():
    error = InvalidArgument("limit is wrong.", "invalid_limit", "limit", 0, "1 to 200", "Set limit to 1.", 30)
    assert error.document() == {
        "error": {
            "code": -32602,
            "reason": "invalid_limit",
            "message": "limit is wrong.",
            "data": {
                "parameter": "limit",
                "value": 0,
                "expected": "1 to 200",
                "suggestion": "Set limit to 1.",
                "retry_after": 30,
            },
        }
    }
    assert str(error) == "limit is wrong."


def test_what_is_not_known_is_left_out():
    assert InternalError("failed", reason="internal_error").document()["error"]["data"] == {}


@pytest.mark.parametrize(
    "value",
    ["x" * 5000, "静" * 5000, ["x" * 5000], {"x" * 5000: 1}, 10**4000, "\ud800" * 500, b"\xff" * 5000, [[[1] * 5000]]],
)
def test_a_long_value_is_cut_and_can_always_be_written(value: Any):
    document = InvalidArgument("wrong", parameter="x", value=value).document()
    assert len(str(document["error"]["data"]["value"])) <= SHOWN_VALUE_CHARS + 30
    assert orjson.loads(orjson.dumps(document)) == document


@pytest.mark.parametrize("value", [0, -5, 1.5, True, None, "short", 2**53 - 1])
def test_a_short_value_is_repeated_as_it_was_given(value: Any):
    shown = InvalidArgument("wrong", parameter="x", value=value).document()["error"]["data"]["value"]
    assert shown == value
    assert type(shown) is type(value)


def test_what_is_missing_and_what_is_wrong_have_statuses_of_their_own():
    assert (NotFound("none").status, InvalidArgument("wrong").status, InternalError("failed").status) == (404, 400, 500)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UpstreamTooSlow("late"), -32000),
        (TooSlow("late"), -32000),
        (store_unavailable(1), -32001),
        (CondensingFailed("failed"), -32002),
        (invalid_cursor("cursor_expired", "token", "gone"), -32003),
        (InvalidHandle("gone"), -32003),
        (OverBudget("large"), -32003),
        (body_too_large(5), -32004),
        (no_free_slot(), -32004),
        (InvalidArgument("wrong"), -32602),
    ],
)
def test_a_code_says_what_kind_of_failure_it_is(error: CallError, code: int):
    assert error.code == code
    assert code in CODES


def test_a_bad_cursor_says_to_begin_again():
    error = invalid_cursor("cursor_expired", "token", "The cursor has expired.")
    assert (error.reason, error.parameter) == ("cursor_expired", "cursor")
    assert "without cursor" in error.suggestion


@given(
    st.sampled_from(["a name, ", "静かな部屋", "😀🏖️", "9f3a1c7e5b2d4860"]),
    st.integers(0, 4000),
    st.integers(0, 4000),
    st.integers(0, 4000),
)
def test_no_error_is_over_the_smallest_cap_that_can_be_set(word: str, message: int, expected: int, suggestion: int):
    said = {"expected": word * expected, "suggestion": word * suggestion}
    error = InvalidArgument(word * message, reason="r", parameter=word * 90, value=word * 90, **said)
    text = json.dumps(error.document(), ensure_ascii=False)
    assert tokens.claude.count(text) <= SETTINGS["hard_cap"].range[0]
    assert json.loads(text)["error"]["data"]["parameter"]


def test_an_error_of_another_process_is_the_same():
    error = NotFound("No station 7.", reason="not_found", parameter="id", value=7, suggestion="List them.")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 — our own
    assert copy == error
    assert copy.document() == error.document()


@contextmanager
def _region() -> Iterator[None]:
    yield


@pytest.mark.parametrize("error", [CallError("a"), InvalidArgument("a"), Correctable("a"), UpstreamError("a")])
def test_an_error_leaves_a_context_manager_as_it_is(error: CallError):
    with pytest.raises(CallError) as raised, _region():
        raise error
    assert raised.value is error
