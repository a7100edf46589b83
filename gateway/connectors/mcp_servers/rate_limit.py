"""Limits the message rate of a server: one that floods us is read more slowly, without delaying other servers."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from gateway.connectors.mcp_servers.stream_wrappers import ReceiveWrapper, StreamWrapper

AT_ONCE, EACH_SECOND = 2_000, 300  # messages
REQUEST = 50  # cost of a request to us, in messages, as each request holds resources until it is answered
ANSWER = 10  # messages that a server may send for each message that we send


class TokenBucket:
    """Lets AT_ONCE messages pass at once, and then EACH_SECOND per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left, self._at = float(AT_ONCE), clock()

    def earn(self, count: float) -> None:
        now = self._clock()
        self._left = min(AT_ONCE, self._left + (now - self._at) * EACH_SECOND + count)
        self._at = now

    async def spend(self, count: float) -> None:
        """Returns when `count` messages may pass."""
        self.earn(-count)
        if self._left < 0:
            await asyncio.sleep(-self._left / EACH_SECOND)


@asynccontextmanager
async def rate_limited(streams: AbstractAsyncContextManager[tuple[Any, Any]]) -> AsyncIterator[tuple[Any, Any]]:
    """The same streams, read no faster than the limit allows."""
    async with streams as (received, sent):
        pace = TokenBucket()
        yield _Received(received, pace), _Sent(sent, pace)


class _Received(ReceiveWrapper):
    def __init__(self, inner: Any, pace: TokenBucket) -> None:
        super().__init__(inner)
        self.pace = pace

    async def passed(self, item: Any) -> Any:
        is_request = isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest)
        await self.pace.spend(REQUEST if is_request else 1)
        return item


class _Sent(StreamWrapper):
    def __init__(self, inner: Any, pace: TokenBucket) -> None:
        super().__init__(inner)
        self.pace = pace

    async def send(self, item: Any) -> None:
        self.pace.earn(ANSWER)
        await self.inner.send(item)
