"""The response cache in tests: off, because a test changes the store inside its transaction, which nobody is told of.
Tests of the cache switch it on."""

import pytest

from context_protection.core.cache_budget import Cache, CacheBudget
from gateway.dispatch.response_cache import response_cache


def keep_responses(monkeypatch: pytest.MonkeyPatch, most_bytes: int = 1 << 20) -> None:
    monkeypatch.setattr(response_cache, "entries", Cache("responses", CacheBudget(most_bytes)))
