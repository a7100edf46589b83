import os
from collections.abc import Iterator

import pytest
from django.core.cache import cache

from telemetry import feed


@pytest.fixture
def own_flag(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody who watches the live tail is noted under another name than usual, because other tests may set and delete
    the usual one in the same Redis meanwhile."""
    monkeypatch.setattr(feed, "FLAG", f"{feed.FLAG}:{os.getpid()}")
    cache.delete(feed.FLAG)
    yield
    cache.delete(feed.FLAG)
