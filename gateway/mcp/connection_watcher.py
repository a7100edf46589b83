"""Notifies clients of a changed tool list, in both protocol eras, and ends the connections of rejected keys.

A configuration change in any process changes the revision, which every process polls. Each process then compares the
tool lists of its connected callers with the lists that they last saw.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import mcp.types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import confirm
from gateway.catalog.caller import Caller
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.sessions import REFUSED, Ending, Sessions
from gateway.threads.bridge import run_sync

logger = logging.getLogger(__name__)
CHECK_SECONDS = 1.0

Notify = Callable[[], Awaitable[None]]


class Listeners:
    """The sessions (handshake era) and subscriptions (2026 era) of one caller."""

    def __init__(self, caller: Caller, fingerprint: str) -> None:
        self.caller = caller
        self.fingerprint = fingerprint  # of the tool list that the clients last saw
        self.sessions: dict[object, Notify] = {}
        self._notifying: dict[object, asyncio.Task[None]] = {}
        self.bus = InMemorySubscriptionBus()
        self.subscriptions = ListenHandler(self.bus)

    async def notify(self) -> None:
        """Sends the notification without waiting until clients read it. Skips sessions that have not read the last
        one."""
        await self.bus.publish(ToolsListChanged())
        for session, notify in self.sessions.items():
            if session not in self._notifying:
                self._notifying[session] = asyncio.create_task(self._notify_session(session, notify))

    async def _notify_session(self, session: object, notify: Notify) -> None:
        try:
            await notify()
        finally:
            del self._notifying[session]


class ConnectionWatcher:
    """Checks the connected callers every second. `fingerprint` returns a digest of a caller's tool list; it blocks."""

    def __init__(self, sessions: Sessions, fingerprint: Callable[[Caller], str], stdio_peer: Peer | None) -> None:
        self.sessions = sessions
        self.fingerprint = fingerprint
        self.stdio_peer = stdio_peer
        self._listeners: dict[str, Listeners] = {}
        self._revision = 0
        self._watching: asyncio.Task[None] | None = None
        sessions.farewells.append(self._end_subscriptions)

    def register(self, server: Server[Any]) -> None:
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen)

    async def _initialized(self, ctx: ServerRequestContext[Any], params: Any) -> None:
        connection = ctx.session._connection  # the SDK offers handlers no public way to notice a closed connection
        if not connection.has_standalone_channel:
            return  # stateless HTTP: no notification can reach this client later
        listeners = await self._listeners_of(ctx)
        if connection not in listeners.sessions:  # a client may repeat the notification
            listeners.sessions[connection] = connection.send_tool_list_changed
            connection.exit_stack.callback(listeners.sessions.pop, connection, None)

    async def _listen(
        self, ctx: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        listeners = await self._listeners_of(ctx)
        return await listeners.subscriptions(ctx, params)

    async def _listeners_of(self, ctx: ServerRequestContext[Any]) -> Listeners:
        caller = peer_of(ctx, self.stdio_peer).caller
        if caller.id not in self._listeners:
            fingerprint = await run_sync(self.fingerprint, caller)
            self._listeners.setdefault(caller.id, Listeners(caller, fingerprint))
        return self._listeners[caller.id]

    def _end_subscriptions(self) -> None:
        """Sends each subscription its result, which tells the client that the server ended it on purpose."""
        for listeners in self._listeners.values():
            listeners.subscriptions.close()

    # -- Watching -----------------------------------------------------------------------------------

    async def start(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        """Runs until it is cancelled. A failed check is logged and repeated."""
        while True:
            try:
                await self.check()
            except Exception:
                logger.exception("connections not checked")
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self) -> None:
        """Ends the connections of rejected keys. After a configuration change, notifies clients of changed lists."""
        callers = {*self.sessions.callers(), *(listeners.caller for listeners in self._listeners.values())}
        revision, rejected = await run_sync(_check_callers, callers)
        for caller, error in rejected.items():
            self._listeners.pop(caller.id, None)
            await self.sessions.end(caller, Ending(REFUSED, error.message))
        if revision != self._revision:
            for caller in callers - rejected.keys():
                await self._notify_if_changed(caller)
        self._revision = revision

    async def _notify_if_changed(self, caller: Caller) -> None:
        listeners = self._listeners.get(caller.id)
        if listeners is None:
            return
        fingerprint = await run_sync(self.fingerprint, caller)
        if fingerprint != listeners.fingerprint:
            listeners.fingerprint = fingerprint
            await listeners.notify()


def _check_callers(callers: Collection[Caller]) -> tuple[int, dict[Caller, NotAuthenticated]]:
    """The revision, and the callers that are no longer admitted, with the reason. Every caller is checked each time,
    because a key that expires does not change the revision. Blocks."""
    revision, rejected = revisions.current(), {}
    for caller in callers:
        try:
            confirm(caller)
        except NotAuthenticated as error:
            rejected[caller] = error
    return revision, rejected
