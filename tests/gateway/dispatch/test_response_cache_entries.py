"""The entries of the response cache: how long they live, how many there are, and which are dropped."""

import math
import time
from dataclasses import replace

import pytest

from context_protection.core.cache_budget import ENTRY_BYTES, CacheBudget
from context_protection.core.payloads import Envelope
from gateway.dispatch.response_cache import OVERHEAD, CachedResponse, CacheKey, ResponseCache

ENVELOPE = Envelope(body=b"x" * 100, outcome="plain", estimated_tokens=1, claude_tokens=1, original_tokens=1)
ENTRY = 100 + 2 + OVERHEAD + ENTRY_BYTES  # bytes: the body, the arguments "{}", and the rest


@pytest.fixture
def cache() -> ResponseCache:
    return ResponseCache(CacheBudget(3 * ENTRY))


def key(number: int, caller: str = "key:1") -> CacheKey:
    return CacheKey(f"list_{number}", caller, None, "{}")


def response(**changes: object) -> CachedResponse:
    fresh = CachedResponse(ENVELOPE, 10, state="s", until=time.monotonic() + 60, version="v")
    return replace(fresh, **changes)  # type: ignore[arg-type]


def has(cache: ResponseCache, number: int, state: str = "s") -> bool:
    return cache.unchanged(key(number), state, "v", math.inf) is not None


def test_an_unchanged_version_is_fresh_again_and_nothing_else_of_it_changes(cache: ResponseCache):
    stored = response(fresh_until=0.0)
    cache.store(key(1), stored)
    again = cache.unchanged(key(1), "s", "v", 1e12)
    assert again == replace(stored, fresh_until=1e12)
    assert cache.unchanged(key(1), "s", "v", 2e12) == replace(stored, fresh_until=2e12), "the entry was replaced"


@pytest.mark.parametrize(
    ("state", "version", "changes"),
    [
        ("s", "another", {}),
        ("s", None, {}),
        ("s", None, {"version": None}),
        ("another", "v", {}),
        ("s", "v", {"until": 0.0}),
    ],
)
def test_another_version_state_or_time_is_not_unchanged(
    cache: ResponseCache, state: str, version: str | None, changes: dict[str, object]
):
    cache.store(key(1), response(**changes))
    assert cache.unchanged(key(1), state, version, 1e12) is None


def test_a_key_that_nothing_is_stored_for(cache: ResponseCache):
    assert cache.unchanged(key(1), "s", "v", 1e12) is None


def test_the_least_recently_used_entry_is_dropped_first(cache: ResponseCache):
    for number in (1, 2, 3):
        cache.store(key(number), response())
    assert has(cache, 1)  # used
    cache.store(key(4), response())
    assert [has(cache, number) for number in (1, 2, 3, 4)] == [True, False, True, True]


def test_an_entry_that_is_stored_again_counts_once(cache: ResponseCache):
    for _ in range(5):
        cache.store(key(1), response())
    cache.store(key(2), response())
    cache.store(key(3), response())
    assert [has(cache, number) for number in (1, 2, 3)] == [True, True, True]


def test_an_invalid_entry_gives_its_room_back(cache: ResponseCache):
    cache.store(key(1), response())
    assert not has(cache, 1, state="another"), "dropped"
    for number in (2, 3, 4):
        cache.store(key(number), response())
    assert [has(cache, number) for number in (2, 3, 4)] == [True, True, True]


def test_what_is_larger_than_the_cache_is_not_stored(cache: ResponseCache):
    cache.store(key(1), response(envelope=replace(ENVELOPE, body=b"x" * (3 * ENTRY))))
    assert not has(cache, 1)


def test_one_callers_responses_are_forgotten_or_all(cache: ResponseCache):
    cache.store(key(1), response())
    cache.store(key(2, "key:2"), response())
    cache.forget("key:2")
    assert has(cache, 1)
    assert cache.unchanged(key(2, "key:2"), "s", "v", 1e12) is None
    cache.forget()
    assert not has(cache, 1)
