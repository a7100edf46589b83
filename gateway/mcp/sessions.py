"""The open MCP connections of this process. They are ended when their key is rejected, and before a restart."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from gateway.catalog.caller import Caller
from gateway.mcp.peers import Peer
from gateway.process.drain import drains

POLL_SECONDS = 0.05  # between checks whether the last answer has been sent
END_SECONDS = 1.0  # maximum wait for connections to close


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection is ended: a WebSocket close code, and a sentence for the client."""

    code: int
    reason: str


RESTART = Ending(1012, "The server restarts; connect again.")
REFUSED = 1008


class Session(Protocol):
    """One open connection, whatever its transport."""

    @property
    def peer(self) -> Peer: ...

    @property
    def answering(self) -> int:
        """The number of requests in flight."""
        ...

    async def end(self, ending: Ending) -> None: ...


class Sessions:
    def __init__(self) -> None:
        self._open: set[Session] = set()
        self._ending: set[asyncio.Task[None]] = set()  # the event loop holds only weak references to tasks
        self.farewells: list[Callable[[], None]] = []  # called before a restart, for example to end subscriptions
        self.draining = False

    @contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        self._open.add(session)
        try:
            yield
        finally:
            self._open.discard(session)

    def callers(self) -> set[Caller]:
        return {session.peer.caller for session in self._open}

    async def end(self, caller: Caller, ending: Ending) -> None:
        """Ends every connection of a caller."""
        await self._end([session for session in self._open if session.peer.caller == caller], ending)

    async def drain(self, seconds: float) -> None:
        """Accepts no new calls, waits up to `seconds` for in-flight calls, then ends every connection."""
        self.draining = True
        for farewell in self.farewells:
            farewell()
        deadline = time.monotonic() + seconds
        while True:
            if not any(session.answering for session in self._open) or time.monotonic() >= deadline:
                break
            await asyncio.sleep(POLL_SECONDS)
        await self._end(list(self._open), RESTART)

    async def _end(self, sessions: list[Session], ending: Ending) -> None:
        """Ends the sessions concurrently, and waits at most END_SECONDS: a client that does not read delays nobody."""
        ends = [asyncio.create_task(session.end(ending)) for session in sessions]
        self._ending.update(ends)
        for end in ends:
            end.add_done_callback(self._ending.discard)
        if ends:
            await asyncio.wait(ends, timeout=END_SECONDS)


sessions = Sessions()
drains.append(sessions.drain)
