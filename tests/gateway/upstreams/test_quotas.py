"""What an upstream says of how many requests it still takes."""

import pytest

from gateway.upstreams.quotas import quota_left


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
