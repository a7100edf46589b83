"""Sends stored calls to the live tail over the channel layer. While nobody watches, a batch costs one comparison."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core.cache import cache

from telemetry.measurement import Measurement

GROUP = "telemetry.live"
FLAG = "telemetry:live"  # a cache key that exists while somebody watches
FLAG_SECONDS = 30.0  # how long the flag lasts; a page renews it after a third of this time
LOOK_SECONDS = 1.0  # between two reads of the flag
REST_SECONDS = 30.0  # the pause after a failure, so that the writer does not wait for a store that is down

# The fields that a row of the tail shows, and those that calls are filtered by.
FIGURES = (
    *("request_id", "caller", "client", "transport", "protocol", "arm", "revision", "trace_id", "operation"),
    *("connector", "outcome", "origin", "error_reason", "error_message", "is_cached", "latency_ms", "upstream"),
    *("upstream_status", "chain", "original_tokens", "estimated_tokens", "claude_tokens", "oversized"),
)

logger = logging.getLogger(__name__)


class Feed:
    """`publish` is used by one thread at a time, the writer. A flag in the cache says whether anybody watches; it is
    read at most once a second, and at once after `look`."""

    def __init__(self) -> None:
        self._is_watched = self._must_look = False
        self._look_at = 0.0  # when to read the flag again

    def publish(self, calls: Sequence[Measurement]) -> None:
        """Never raises: the calls are already stored, and the tail only shows them."""
        try:
            if calls and self._somebody_watches():
                message = {"type": "live.calls", "calls": [packed(call) for call in calls]}
                async_to_sync(get_channel_layer().group_send)(GROUP, message)
        except Exception as error:
            self._is_watched, self._look_at = False, time.monotonic() + REST_SECONDS
            logger.warning("calls not sent to the live tail", extra={"error": type(error).__name__})

    def look(self) -> None:
        """Makes the next `publish` read the flag. Any thread may call it."""
        self._must_look = True

    def _somebody_watches(self) -> bool:
        now = time.monotonic()
        if self._must_look or now >= self._look_at:
            self._must_look = False  # before the flag is read, so that a later `look` is not lost
            self._is_watched, self._look_at = bool(cache.get(FLAG)), now + LOOK_SECONDS
        return self._is_watched


_feed = Feed()
publish = _feed.publish


async def watch() -> None:
    """Says for FLAG_SECONDS that somebody watches. This process knows it at once, the others within LOOK_SECONDS."""
    await cache.aset(FLAG, True, FLAG_SECONDS)
    _feed.look()


def packed(call: Measurement) -> dict[str, Any]:
    """The call as a mapping for the channel layer, which cannot carry datetimes."""
    return {"at": call.at.timestamp(), **{name: getattr(call, name) for name in FIGURES}}


def unpacked(figures: Mapping[str, Any]) -> Measurement:
    """The call from a mapping. A process of another version may send other figures."""
    known = {name: figures[name] for name in FIGURES if name in figures}
    return Measurement.with_defaults(at=datetime.fromtimestamp(figures["at"], UTC), **known)
