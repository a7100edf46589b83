"""Who is told of a change, and whose connection is ended; nobody at the expense of others."""

import asyncio
import time
from datetime import timedelta

import anyio
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.mcp.admission import HeldOpen
from gateway.mcp.connection_watcher import ConnectionWatcher, Listeners
from gateway.mcp.peers import Peer
from gateway.mcp.sessions import RESTART, Ending, Sessions
from gateway.mcp.tools import fingerprint
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


async def test_a_key_that_expires_ends_its_connections_also_if_its_expiry_was_set_later(
    api_key: str, monkeypatch: pytest.MonkeyPatch
):
    caller = await sync_to_async(caller_of_key)(api_key)
    await ApiKey.objects.aupdate(expires_at=timezone.now() + timedelta(hours=1))
    revisions.bump()
    sessions = Sessions()
    watcher = ConnectionWatcher(sessions, fingerprint, stdio_peer=None)
    scope = anyio.CancelScope()
    with sessions.opened(HeldOpen(Peer(caller, "http"), scope, in_flight=())):
        await watcher.check()
        assert not scope.cancel_called
        later = time.time() + 3601
        monkeypatch.setattr(time, "time", lambda: later)
        await watcher.check()
        assert scope.cancel_called


async def test_a_client_that_does_not_read_holds_up_nobody_who_is_to_be_told(caller: Caller):
    listeners = Listeners(caller, fingerprint="")
    told, never = asyncio.Event(), asyncio.Event()

    async def notify() -> None:
        told.set()

    async def notify_in_vain() -> None:
        await never.wait()

    listeners.sessions = {"stuck": notify_in_vain, "reading": notify}
    with anyio.fail_after(PATIENCE):
        await listeners.notify()
        await told.wait()
        told.clear()
        await listeners.notify()
        await told.wait()
    never.set()


class Stuck:
    """The session of a client that does not read."""

    answering = 0

    def __init__(self, peer: Peer, never: asyncio.Event) -> None:
        self.peer, self.never = peer, never

    async def end(self, ending: Ending) -> None:
        await self.never.wait()


async def test_a_client_that_does_not_read_holds_up_no_restart(caller: Caller):
    sessions, never, scope = Sessions(), asyncio.Event(), anyio.CancelScope()
    reading = HeldOpen(Peer(caller, "http"), scope, in_flight=())
    with sessions.opened(Stuck(Peer(caller, "websocket"), never)), sessions.opened(reading):
        with anyio.fail_after(PATIENCE):
            await sessions.drain(0)
    assert scope.cancel_called
    assert sessions.draining
    never.set()
    assert RESTART.code == 1012


async def test_a_change_is_told_once_and_whoever_is_refused_is_forgotten(api_key: str):
    caller = await sync_to_async(caller_of_key)(api_key)
    watcher, told = ConnectionWatcher(Sessions(), fingerprint, stdio_peer=None), []

    async def notify() -> None:
        told.append(1)

    listeners = watcher._listeners[caller.id] = Listeners(caller, fingerprint="another list")
    listeners.sessions = {"session": notify}
    for _ in range(3):
        revisions.bump()
        await watcher.check()
        await asyncio.sleep(0)
    assert told == [1]
    await ApiKey.objects.aupdate(revoked_at=timezone.now())
    revisions.bump()
    await watcher.check()
    assert watcher._listeners == {}
