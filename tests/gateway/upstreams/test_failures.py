"""What upstream says is repeated short, clean, and without secrets."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import errors, tokens
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.failures import MASK, MAX_CHARS, cleaned, message_of, without
from gateway.upstreams.request import Response

SECRET = "s3cr3t/w0rd+"


def answer_of(body: bytes) -> Response:
    return Response(422, {"content-type": "application/json"}, body)


def said(document: Any, media_type: str = "application/json") -> str:
    return message_of(Response(422, {"content-type": media_type}, json.dumps(document).encode()), [SECRET])


@pytest.mark.parametrize(
    "document",
    [
        {"error": {"message": "No such charge", "type": "invalid"}},
        {"message": "No such charge"},
        {"detail": "No such charge"},
        {"title": "No such charge", "status": 404},
        {"errors": [{"message": "No such charge"}, {"message": "other"}]},
        {"errors": [{"title": "No such charge"}]},
        {"errors": ["No such charge"]},
        {"error": "No such charge"},
        {"error": "invalid_request", "error_description": "No such charge"},
        {"errors": {}, "error": None, "message": "No such charge"},
    ],
)
def test_the_message_is_found_where_apis_put_it(document: Any):
    assert said(document, "application/problem+json; charset=utf-8") == "No such charge"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"detail": [{"loc": ["query", "email"], "msg": "is no address", "type": "x"}]}, "email: is no address"),
        ({"detail": [{"loc": ["body", "lines", 0], "msg": "is too long"}]}, "lines.0: is too long"),
        ({"message": "Invalid.", "errors": {"email": ["Is taken."]}}, "Invalid.; email: Is taken."),
        ({"email": ["Is taken.", "Is long."], "age": ["Is low."]}, "email: Is taken. Is long.; age: Is low."),
        ({"errors": {"name": ["is empty"]}}, "name: is empty"),
        ({"message": "Failed", "errors": [{"field": "email", "code": "invalid"}]}, "Failed; email: invalid"),
        ({"title": "Bad", "invalid-params": [{"name": "a", "reason": "is low"}]}, "Bad; a: is low"),
        ({"errors": [{"detail": "is low", "source": {"pointer": "/data/a"}}]}, "/data/a: is low"),
        ({"error": {"message": "Bad", "details": [{"field": "a", "description": "is low"}]}}, "Bad; a: is low"),
        ({"message": ["a is low", "b is high"], "error": "Bad Request"}, "a is low; b is high"),
        ({"error": {"details": [{"fieldViolations": [{"field": "a", "description": "is low"}]}]}}, "a: is low"),
        ([{"message": "No such column", "errorCode": "INVALID_FIELD"}], "No such column"),
    ],
)
def test_the_fields_that_upstream_objects_to_are_named(document: Any, message: str):
    assert said(document) == message


NAMES = st.sampled_from(["errors", "detail", "message", "fieldViolations", "loc", "field", "source", "error", "msg"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4),
)


@given(VALUES)
def test_an_error_of_any_shape_can_be_read(document: Any):
    assert len(said(document)) <= MAX_CHARS


def test_a_deeply_nested_error_can_be_read():
    assert message_of(answer_of(b'{"errors":[{"fieldViolations":' * 300 + b"1" + b"}]}" * 300), []) == ""


def test_a_plain_text_that_rejects_a_request_is_repeated():
    def of_text(text: bytes, status: int = 400) -> str:
        return message_of(Response(status, {"content-type": "text/plain; charset=utf-8"}, text), [SECRET])

    assert of_text(b"until is before from\nat line 7") == "until is before from"
    assert "w0rd" not in of_text(f"{SECRET} is wrong".encode())
    assert [of_text(b"<html>No"), of_text(b"Traceback", 500), of_text(b"\xff" * 70_000)] == ["", "", ""]


@pytest.mark.parametrize("document", [{}, [], "text", None, {"message": 5}, {"errors": []}, {"error": {"message": ""}}])
def test_where_there_is_none_nothing_is_said(document: Any):
    assert said(document) == ""


def test_of_pages_and_of_what_cannot_be_read_nothing_is_repeated():
    assert said({"message": "x"}, "text/html") == ""
    assert message_of(Response(500, {"content-type": "application/json"}, b"{"), []) == ""
    assert said({"message": "x" * 70_000}) == ""


def test_it_is_one_line_of_what_can_be_seen():
    text = "a\x1b[31mred\x1b[0m\x00 b\u202ec\u200bd\U000e0041\ufeffe\r\n\tf\x1b]0;title\x07g\u2028h\ufe0f\ud800"
    assert cleaned(text, []) == "ared bcde fg h"


@given(st.text())
def test_nothing_invisible_is_left(text: str):
    assert all(each.isprintable() for each in cleaned(text, []))


@pytest.mark.parametrize(
    "text",
    [
        f"key {SECRET} is wrong",
        "key s3cr3t%2Fw0rd%2B is wrong",
        "key s3cr3t/\u200bw0rd+ is wrong",
        "key \x1b[1ms3cr3t/w0rd+ is wrong",
        "x" * (MAX_CHARS - 8) + SECRET,
    ],
)
def test_a_secret_is_masked_however_it_is_written(text: str):
    assert "s3cr3t" not in cleaned(text, [SECRET])


@pytest.mark.parametrize(
    "token",
    [
        "Bearer abcdef0123456789",
        "authorization: Basic dXNlcjpwYXNzd29yZA==",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "sk_live_abcdef0123456789",
        "ghp_abcdefghij0123456789",
        "AKIAABCDEFGHIJKLMNOP",
        "https://user:passw0rd@host/",
        "?api_key=abcdef0123&x=1",
        '"access_token":"abcdef0123"',
        "client_secret=abcdef0123",
        "password: hunter22",
        "0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_what_looks_like_a_token_is_masked_although_nobody_knows_it(token: str):
    shown = cleaned(f"Refused {token} today", [])
    assert MASK in shown or "[withheld: token]" in shown
    assert token not in shown
    assert shown.startswith("Refused ")
    assert shown.endswith("today")


@pytest.mark.parametrize(
    "text", ["Invalid token in field name", "No row 550e8400-e29b-41d4-a716-446655440000", "limit must be <= 100"]
)
def test_plain_words_and_ids_stay(text: str):
    assert cleaned(text, ["ab"]) == text


def test_it_is_no_longer_than_it_may_be():
    shown = cleaned("word " * 200, [])
    assert len(shown) == MAX_CHARS
    assert shown.endswith("…")


def test_of_two_secrets_the_longer_is_masked_whole():
    assert without("/abcdefgh/", ["abcd", "abcdefgh"]) == f"/{MASK}/"


def test_a_message_of_rare_characters_leaves_an_error_within_the_smallest_cap():
    message = cleaned("".join(chr(0x20000 + n) for n in range(MAX_CHARS)), [])
    error = UpstreamError("It failed.", "upstream_failed", upstream={"status": 501, "message": message})
    assert tokens.exact(error.body.decode()) <= errors.MAX_TOKENS
    upstream = error.document()["error"]["data"]["upstream"]
    assert upstream["status"] == 501
    assert upstream["message"][:50] == message[:50]
