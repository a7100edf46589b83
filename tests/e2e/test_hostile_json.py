"""Documents and strings that are known to break parsers, over every transport of a running server: each is accepted or
refused in the transport's own form, and the message after it is answered as ever."""

import json
import re
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.e2e import raw
from tests.e2e.corpora import NO_UTF8, Document, json_test_suite, naughty_strings
from tests.e2e.raw import Reply, Transport
from tests.e2e.serving import Serving, serving

INTERNALS = re.compile(r"Traceback|File \"|site-packages|\.py\b|<html")
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
LONGEST_QUOTED = 80  # characters of a value that an error repeats
LONGEST_TEXT = 200  # characters of one that a condition compares with
LONGEST_QUERY = 60_000  # bytes that a client takes for a URL


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


def faults(reply: Reply) -> Iterator[str]:
    """What no reply may be, whatever it is a reply to."""
    if reply.status >= 500 and reply.status != 1007:  # 1007: a text frame that is not UTF-8 closes its socket
        yield f"status {reply.status}"
    shown = reply.text + json.dumps(reply.messages, ensure_ascii=False)
    if found := INTERNALS.search(shown):
        yield f"shows internals: {found[0]}"
    for error in reply.errors:
        if not error.get("message") or error["code"] == -32603:
            yield f"error without words of its own: {error}"


Judge = Callable[[Document, Reply], Iterator[str]]


def found_wrong(transport: Transport, documents: list[Document], judge: Judge) -> dict[str, list[str]]:
    """By document. After each the transport must still serve, on the same connection unless it says that it ended."""
    wrong = {}
    for document in documents:
        reply = transport.send(document.text)
        if found := [*faults(reply), *judge(document, reply)]:
            wrong[document.name] = found
        transport.ping()
    return wrong


def documents(transport: str) -> list[Document]:
    every = [*json_test_suite(), *invalid_bytes()]
    if transport == "query":
        every = [each for each in every if len(each.text) * 3 < LONGEST_QUERY]
    if transport == "stdio":
        every = [each for each in every if b"\n" not in each.text]  # a line is a message
    return every


def invalid_bytes() -> list[Document]:
    return [Document(f"n {name}", text) for name, text in NO_UTF8.items()]


# -- A document as the whole of a message -----------------------------------------------------------


def judged_as_arguments(document: Document, reply: Reply) -> Iterator[str]:
    """REST's body is an object of arguments; a body of nothing has none."""
    empty = not document.text.strip()
    reasons = {error["reason"] for error in reply.errors}
    if reply.status not in {200, 400, 413}:
        yield f"status {reply.status}"
    if document.name[0] == "n" and not empty and reasons not in ({"invalid_json"}, {"too_deep"}, {"too_many_values"}):
        yield f"no JSON, and refused as {reasons}"
    if document.name[0] == "y" and "invalid_json" in reasons:
        yield "JSON, and refused as none"


def judged_as_condition(document: Document, reply: Reply) -> Iterator[str]:
    if reply.status not in {200, 400, 413, 414}:
        yield f"status {reply.status}"
    if document.name[0] == "n" and document.text.strip() and reply.status == 200:
        yield "no JSON, and taken as a condition"


def judged_as_message(document: Document, reply: Reply) -> Iterator[str]:
    """None of them is a message of JSON-RPC: the sender is told, as far as the transport can tell it."""
    codes = {error["code"] for error in reply.errors}
    if not codes <= {PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS}:
        yield f"codes {codes}"
    if document.name[0] == "y" and PARSE_ERROR in codes:
        yield "JSON, and refused as none"
    if any("result" in message for message in reply.messages):
        yield "answered as if it were a request"


def judged_with_status(document: Document, reply: Reply) -> Iterator[str]:
    yield from judged_as_message(document, reply)
    if reply.status not in {400, 413}:
        yield f"status {reply.status}"


def judged_with_error(document: Document, reply: Reply) -> Iterator[str]:
    yield from judged_as_message(document, reply)
    if len(reply.errors) != 1 and reply.status != 1007:
        yield f"told {len(reply.errors)} times"


def judged_as_line(document: Document, reply: Reply) -> Iterator[str]:
    """An empty line is no message."""
    yield from judged_with_error(document, reply) if document.text.strip() else judged_as_message(document, reply)


JUDGES: dict[str, Judge] = {
    "rest": judged_as_arguments,
    "query": judged_as_condition,
    "http": judged_with_status,
    "sse": judged_with_status,
    "websocket": judged_with_error,
    "stdio": judged_as_line,
}


@pytest.mark.node
@pytest.mark.parametrize("transport", raw.TRANSPORTS)
def test_what_is_no_message_is_refused_and_the_next_one_is_served(sluice: Serving, transport: str):
    with raw.opened(sluice, transport) as opened:
        assert found_wrong(opened, documents(transport), JUDGES[transport]) == {}


@pytest.mark.parametrize("transport", raw.TRANSPORTS)
def test_bytes_that_are_no_text_are_refused_and_the_next_message_is_served(sluice: Serving, transport: str):
    with raw.opened(sluice, transport) as opened:
        assert found_wrong(opened, invalid_bytes(), JUDGES[transport]) == {}


INVALID = {
    "batch": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None),
    "fraction": (b'{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}', None),
    "no version": (b'{"id":7,"method":"tools/list"}', 7),
    "half of an emoji": (raw.call_of("list_listings", rb'{"name":"\ud83d"}', raw.LATE), 7),
}


@pytest.mark.parametrize("transport", raw.MCP)
@pytest.mark.parametrize("invalid", INVALID)
def test_the_sender_of_an_invalid_message_gets_an_error_that_says_what_is_wrong(
    sluice: Serving, transport: str, invalid: str
):
    """Nobody waits for an answer that never comes."""
    message, request_id = INVALID[invalid]
    with raw.opened(sluice, transport) as opened:
        reply = opened.send(message)
        (answer,) = reply.messages or raw.messages_in(reply.text)
        assert answer["id"] == request_id
        assert answer["error"]["data"]["suggestion"]
        assert reply.status in {0, 400}
        opened.ping()


# -- A document as an argument ----------------------------------------------------------------------


@pytest.mark.node
@pytest.mark.parametrize("transport", raw.MCP)
def test_json_of_any_kind_as_an_argument_is_answered_by_its_id(sluice: Serving, transport: str):
    valid = [each for each in documents(transport) if each.name.startswith("y")]
    wrong = {}
    with raw.opened(sluice, transport) as opened:
        for document in valid:
            reply = opened.call("list_listings", b'{"where":%s}' % document.text)
            if found := [*faults(reply), *([] if len(reply.messages) == 1 else [f"answers: {reply.messages}"])]:
                wrong[document.name] = found
    assert len(valid) > 80
    assert wrong == {}


@pytest.mark.node
@pytest.mark.parametrize("transport", raw.MCP)
def test_a_call_that_is_no_json_is_refused_and_the_next_one_is_served(sluice: Serving, transport: str):
    calls = [
        Document(each.name, raw.call_of("list_listings", b'{"where":%s}' % each.text, raw.LATE))
        for each in documents(transport)
        if not each.name.startswith("y")
    ]
    with raw.opened(sluice, transport) as opened:
        assert found_wrong(opened, calls, lambda document, reply: iter(())) == {}


@pytest.mark.parametrize("transport", raw.TRANSPORTS)
@pytest.mark.parametrize("levels", [101, 1_000, 20_000])
def test_a_document_of_many_levels_is_refused_and_the_next_message_is_served(
    sluice: Serving, transport: str, levels: int
):
    """Below a hundred it may be anything; beyond, whatever limit meets it first refuses it."""
    nested = b'{"a":' * levels + b"1" + b"}" * levels
    with raw.opened(sluice, transport) as opened:
        try:
            reply = opened.send(nested)
        except httpx2.InvalidURL:
            assert transport == "query"
            assert levels == 20_000
        else:
            assert list(faults(reply)) == []
            assert reply.status in {0, 400, 413, 414, 431}
        opened.ping()


def of_many_values(transport: str, count: int) -> bytes:
    """As large as a body may be, or as a query string."""
    values = b"[%b]" % b",".join([b"1" if transport == "query" else b"[]"] * count)
    if transport == "query":
        return values
    if transport == "rest":
        return b'{"where":%b}' % values
    return raw.call_of("list_listings", b'{"where":%b}' % values, raw.LATE)


@pytest.mark.parametrize("transport", raw.TRANSPORTS)
def test_a_document_of_many_values_is_refused_in_words_and_the_next_message_is_served(sluice: Serving, transport: str):
    count = 10_001 if transport == "query" else 1_300_000
    with raw.opened(sluice, transport) as opened:
        reply = opened.send(of_many_values(transport, count))
        assert list(faults(reply)) == []
        assert "10,000" in reply.text + json.dumps(reply.messages)
        assert "too_many_values" in reply.text + json.dumps(reply.messages)
        assert reply.status in {0, 400}
        if transport in {"websocket", "stdio"}:
            assert [each["id"] for each in reply.messages] == [7]
        opened.ping()


@pytest.mark.parametrize("transport", ["rest", *raw.MCP])
def test_a_text_that_holds_json_of_many_values_is_refused_in_words(sluice: Serving, transport: str):
    """Some clients send an object as its text: the limit is that of the text, not of the one value that it is."""
    text = json.dumps({"search_criteria": json.dumps({"a": [[]] * 100_000})}).encode()
    with raw.opened(sluice, transport) as opened:
        reply = opened.call("nsip_search_animals", text)
        assert list(faults(reply)) == []
        assert {error.get("reason") for error in reply.errors} == {"too_many_values"}
        opened.ping()


def test_a_message_over_stdio_is_bounded_in_bytes(sluice: Serving):
    message = raw.request("ping", {"padding": "x" * (5 * 2**20)}, request_id=7)
    with raw.opened(sluice, "stdio") as opened:
        reply = opened.send(message)
        (error,) = reply.errors
        assert (reply.messages[0]["id"], error["data"]["reason"]) == (7, "body_too_large")
        opened.ping()


# -- Strings as arguments ---------------------------------------------------------------------------


def quoted(text: str) -> str:
    """As an error repeats it: whole, or its beginning and how long it is."""
    if len(text) <= LONGEST_QUOTED:
        return text
    return f"{text[:LONGEST_QUOTED]}… ({len(text)} characters)"


@pytest.mark.node
@pytest.mark.parametrize("transport", raw.TRANSPORTS)
def test_a_string_comes_back_as_it_was_given(sluice: Serving, transport: str):
    """In the error of an argument that takes none of them."""
    with raw.opened(sluice, transport) as opened:
        for text in naughty_strings():
            reply = opened.call("list_listings", json.dumps({"format": text}).encode())
            assert list(faults(reply)) == [], text
            (error,) = reply.errors
            assert error["data"]["value"] == quoted(text)
        opened.ping()


@pytest.mark.node
@pytest.mark.parametrize("transport", ["rest", *raw.MCP])
def test_a_string_as_a_condition_or_a_search_is_answered(sluice: Serving, transport: str):
    with raw.opened(sluice, transport) as opened:
        for text in naughty_strings():
            arguments = json.dumps({"where": {"name": {"contains": text}}}).encode()
            reply = opened.call("list_listings", arguments)
            assert list(faults(reply)) == [], text
            refused = {error["reason"] for error in reply.errors}
            assert refused == ({"invalid_where"} if len(text) > LONGEST_TEXT else set()), reply
        opened.ping()
