"""What headers say of a rate limit."""

from time import time

import pytest

from gateway.upstreams.quota import LONGEST_WAIT, capacity, quota_left, retry_after, seconds_to_wait, whole_seconds


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining": "42"},
        {"ratelimit-remaining": "42"},
        {"x-rate-limit-remaining": " 42 "},
        {"ratelimit": '"default";r=42;t=30'},
        {"ratelimit": "limit=100, remaining=42, reset=5"},
    ],
)
def test_it_is_found_in_the_headers_that_are_in_use(headers: dict[str, str]):
    assert quota_left(headers, None) == 42


@pytest.mark.parametrize(
    "headers", [{}, {"x-ratelimit-remaining": "many"}, {"x-ratelimit-remaining": "-1"}, {"ratelimit": "limit=100"}]
)
def test_what_says_nothing_changes_nothing(headers: dict[str, str]):
    assert quota_left(headers, 7) == 7


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-limit": "60"}, {"remaining": 0, "limit": 60}),
        ({"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "7"}, {"remaining": 7, "limit": 100}),
        ({"ratelimit": "limit=100, remaining=42, reset=5"}, {"remaining": 42, "limit": 100}),
        ({"x-ratelimit-remaining": "9" * 40}, {}),
        ({}, {}),
    ],
)
def test_the_capacity_is_what_the_headers_say(headers: dict[str, str], expected: dict[str, int]):
    assert capacity(headers) == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "17"},
        {"retry-after": "17", "x-ratelimit-reset": "3"},
        {"x-ratelimit-reset": "17"},
        {"ratelimit-reset": "17"},
        {"ratelimit": '"default";r=0;t=17'},
        {"retry-after": "soon", "ratelimit": "limit=100, remaining=0, reset=17"},
    ],
)
def test_the_wait_is_that_of_retry_after_or_else_until_the_reset(headers: dict[str, str]):
    assert seconds_to_wait(headers) == 17


@pytest.mark.parametrize("scale", [1, 1000])
def test_a_reset_may_be_a_unix_time(scale: int):
    assert seconds_to_wait({"x-ratelimit-reset": str(int((time() + 60) * scale))}) == pytest.approx(60, abs=2)
    assert seconds_to_wait({"x-ratelimit-reset": str(int((time() - 60) * scale))}) == 0


@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}, {"x-ratelimit-reset": "-5"}])
def test_headers_that_say_nothing_give_no_wait(headers: dict[str, str]):
    assert retry_after(headers) is None
    assert seconds_to_wait(headers) is None


def test_an_error_asks_for_a_second_to_an_hour():
    assert [whole_seconds(seconds) for seconds in (0, 0.2, 1.2, 1e9)] == [1, 1, 2, LONGEST_WAIT]
