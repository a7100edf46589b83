"""Answers are given again while they are fresh; how many and how large, the oldest first to go."""

import pytest

from gateway.upstreams.cache import ENTRY_BYTES, MOST_ANSWERS, STALE_SECONDS, Kept, conditional, key_of
from gateway.upstreams.exchanges import Request, Response
from tests.gateway.upstreams.conftest import Time


def answer(body: bytes = b"{}", **headers: str) -> Response:
    return Response(200, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def test_an_answer_is_fresh_for_as_long_as_it_is_kept_for(time: Time):
    kept = Kept(time)
    kept.keep("key", answer(), 60)
    found = kept.find("key")
    assert found is not None
    assert kept.is_fresh(found)
    time.now += 60
    assert not kept.is_fresh(found)


def test_it_is_there_for_a_day_after_that_and_then_it_is_not(time: Time):
    kept = Kept(time)
    kept.keep("key", answer(), 60)
    time.now += 60 + STALE_SECONDS
    assert kept.find("key") is not None
    time.now += 1
    assert kept.find("key") is None


def test_the_thousand_and_first_puts_out_the_first(time: Time):
    kept = Kept(time)
    for number in range(MOST_ANSWERS + 1):
        kept.keep(number, answer(), 60)
    assert kept.find(0) is None
    assert kept.find(1) is not None
    assert kept.find(MOST_ANSWERS) is not None


def test_the_first_in_is_the_first_out_however_often_it_was_read(time: Time):
    kept = Kept(time, most_answers=2)
    kept.keep("a", answer(), 60)
    kept.keep("b", answer(), 60)
    kept.find("a")
    kept.keep("c", answer(), 60)
    assert [key for key in "abc" if kept.find(key)] == ["b", "c"]


def test_what_is_kept_again_is_new_and_takes_its_place_once(time: Time):
    kept = Kept(time, most_bytes=2 * (100 + ENTRY_BYTES))
    for _ in range(10):
        kept.keep("a", answer(bytes(100)), 60)
    kept.keep("b", answer(bytes(100)), 60)
    kept.keep("a", answer(bytes(100)), 60)
    assert kept.find("a")
    assert kept.find("b")
    kept.keep("c", answer(bytes(100)), 60)
    assert [key for key in "abc" if kept.find(key)] == ["a", "c"]


def test_they_are_no_more_bytes_than_may_be(time: Time):
    kept = Kept(time, most_bytes=10_000)
    for number in range(10):
        kept.keep(number, answer(bytes(1000)), 60)
    assert sum(len(found.body) + ENTRY_BYTES for n in range(10) if (found := kept.find(n))) <= 10_000
    kept.keep("huge", answer(bytes(20_000)), 60)
    assert kept.find("huge") is None


def test_what_says_no_store_is_not_kept_and_takes_what_was_kept_with_it(time: Time):
    kept = Kept(time)
    kept.keep("key", answer(), 60)
    kept.keep("key", answer(cache_control="private, No-Store"), 60)
    assert kept.find("key") is None
    kept.keep("key", answer(cache_control="private"), 60)
    assert kept.find("key") is not None


def test_all_are_forgotten_at_once(time: Time):
    kept = Kept(time)
    kept.keep("key", answer(), 60)
    kept.clear()
    assert kept.find("key") is None


REQUEST = Request("POST", "https://a.example/x?y=1", {"Accept": "a", "X": "1"}, b"{}", repeatable=True)


@pytest.mark.parametrize(
    ("request_", "scope"),
    [
        (REQUEST, "caller:2"),
        (Request("GET", REQUEST.url, REQUEST.headers, REQUEST.body), ""),
        (Request("POST", REQUEST.url + "2", REQUEST.headers, REQUEST.body), ""),
        (Request("POST", REQUEST.url, {**REQUEST.headers, "X": "2"}, REQUEST.body), ""),
        (Request("POST", REQUEST.url, REQUEST.headers, b"[]"), ""),
    ],
)
def test_another_request_or_scope_has_another_key(request_: Request, scope: str):
    assert key_of(request_, scope) != key_of(REQUEST, "")


def test_the_order_and_case_of_headers_do_not_matter():
    same = Request("POST", REQUEST.url, {"x": "1", "accept": "a"}, b"{}")
    assert key_of(same, "") == key_of(REQUEST, "")


def test_what_is_known_is_asked_for_only_if_it_has_changed():
    known = answer(etag='"1"', last_modified="Thu, 01 Jan 2026 00:00:00 GMT")
    headers = conditional(REQUEST, known).headers
    assert headers["if-none-match"] == '"1"'
    assert headers["if-modified-since"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert conditional(REQUEST, answer()) is REQUEST
    assert conditional(REQUEST, None) is REQUEST
