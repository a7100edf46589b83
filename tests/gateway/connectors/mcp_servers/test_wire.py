"""Lines of a child: bounded, and of one that is too long, whose answer it was."""

import json
import re

import orjson
import pytest
from mcp.types import PARSE_ERROR

from gateway.connectors.mcp_servers import wire
from gateway.connectors.mcp_servers.wire import TOO_DEEP, TOO_LARGE, Lines, LoneSurrogates, TruncatedLine, message_of


def lines_of(data: bytes, at_once: int, most: int = 100) -> list[bytes | TruncatedLine]:
    lines = Lines(most, ends=10)
    found = [line for start in range(0, len(data), at_once) for line in lines.feed(data[start : start + at_once])]
    return [*found, *lines.rest()]


@pytest.mark.parametrize("at_once", [1, 3, 7, 1000])
def test_lines_are_the_same_however_they_come(at_once: int):
    data = b"one\n\n" + b"0123456789" * 20 + b"\nthree\nno end"
    assert lines_of(data, at_once)[0:2] == [b"one", b""]
    cut = lines_of(data, at_once)[2]
    assert isinstance(cut, TruncatedLine)
    assert cut.tail == b"0123456789"
    assert cut.head == b"0123456789"
    assert lines_of(data, at_once)[3:] == [b"three", b"no end"]


def test_a_line_of_just_the_limit_is_whole():
    assert lines_of(b"x" * 100 + b"\n", 30) == [b"x" * 100]
    assert isinstance(lines_of(b"x" * 101 + b"\n", 30)[0], TruncatedLine)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{', b"..."),
        (b'{ "id": 7, "jsonrpc": "2.0", "result"', b"..."),
        (b'{"result":{"content":[', b'"}]},"jsonrpc":"2.0","id":7}'),
        (b'{"result":{"content":[', b'"}]},"id":7,"jsonrpc":"2.0"}'),
    ],
)
def test_the_request_of_an_answer_that_is_too_long_is_refused(head: bytes, tail: bytes):
    message = message_of(TruncatedLine(head, tail))
    assert message is not None
    assert (message.message.id, message.message.error.code) == (7, TOO_LARGE)


def test_an_id_within_an_answer_is_not_taken_for_its_own():
    assert message_of(TruncatedLine(b'{"jsonrpc":"2.0","method":"x","params":{"id":7', b'"id":8}}')) is None


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"cut \ud83d", "cut \ufffd"),
        (rb"cut \ude00, whole \ud83d\ude00", "cut \ufffd, whole \U0001f600"),
        (rb"a path \\ud83d \ud83d", "a path \\ud83d \ufffd"),
        (b"odd \xff byte", "odd \ufffd byte"),
    ],
)
def test_half_a_character_costs_no_answer(sent: bytes, read: str):
    message = message_of(b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"' + sent + b'"}]}}')
    assert message is not None
    assert message.message.result["content"][0]["text"] == read


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (b'{"structuredContent":{"method":' + b"[" * 300 + b"]" * 300 + b"}}", TOO_DEEP),
        (b"[" * 300 + b"]" * 300, TOO_DEEP),
        (b"[" * 3000 + b"]" * 3000, TOO_DEEP),
        (b'{"broken": ', PARSE_ERROR),
    ],
)
def test_whoever_waits_for_what_cannot_be_read_hears_of_it(result: bytes, code: int):
    message = message_of(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}")
    assert message is not None
    assert (message.message.id, message.message.error.code) == (7, code)


def test_an_unreadable_question_of_the_server_is_taken_for_no_answer():
    assert message_of(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":' + b"[" * 300 + b"]" * 300 + b"}") is None


def test_what_is_no_message_is_none():
    assert message_of(b"hello") is None
    assert message_of(b"\xff\xfe{") is None
    assert wire.message_of(b'{"jsonrpc":"2.0","method":"notifications/x"}') is not None


TEXTS = (
    r"a\ud83d",
    r"\udc00\ud83d",
    r"\ud83d\ude00",
    r"\\ud83d",
    r"\\\ud83dx",
    r"\ud83d\n",
    r"\ud83d\u0041",
    r"\uD83D\uD83D\uDE00",
)


@pytest.mark.parametrize("at_once", [1, 2, 5, 7, 1000])
@pytest.mark.parametrize("text", TEXTS)
def test_half_a_character_is_replaced_however_it_comes(text: str, at_once: int):
    sent = f'{{"a": "{text}"}}'.encode()
    surrogates = LoneSurrogates()
    chunks = [surrogates.replaced(sent[start : start + at_once]) for start in range(0, len(sent), at_once)]
    read = orjson.loads(b"".join([*chunks, surrogates.rest]))["a"]
    assert read == re.sub("[\ud800-\udfff]", "\ufffd", json.loads(sent)["a"])


def test_a_whole_message_is_not_held_back():
    sent = rb'{"a": "\ud83d"}'
    assert LoneSurrogates().replaced(sent) == rb'{"a": "\ufffd"}'
