"""The live tail's WebSocket at /telemetry/live/socket, a Channels consumer. It sends frames and ignores what the page
sends. Without a WebSocket, the page polls (telemetry/pages/live.py)."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, QueryDict, parse_cookie
from django.urls import reverse
from django.utils import timezone

from telemetry import access, feed
from telemetry.pages.address import Address
from telemetry.pages.live_tail import Tail
from telemetry.storage import release_connection

FRAME_SECONDS = 0.2
PULSE_SECONDS = 2.0  # between frames while no calls arrive: they show that the connection works, and update the rates
CHECK_SECONDS = feed.FLAG_SECONDS / 3  # between two checks whether the user may still see calls
NOT_ALLOWED = 4403  # the close code for a user who may no longer see calls


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    async def connect(self) -> None:
        self._frames: asyncio.Task[None] | None = None
        request = _request(self.scope)
        if not await sync_to_async(_may_still_see)(request):
            await self.close()  # before `accept`, so the handshake is denied
            return
        self._request = request
        address = Address.of(request)
        self._zone = ZoneInfo(address.zone)
        self._tail = Tail(address, time.time())
        await feed.watch()
        await self.channel_layer.group_add(feed.GROUP, self.channel_name)
        await self.accept()
        self._frames = asyncio.create_task(self._send_frames())

    async def disconnect(self, code: int) -> None:
        if self._frames is not None:
            self._frames.cancel()
            with suppress(asyncio.CancelledError):
                await self._frames
            await self.channel_layer.group_discard(feed.GROUP, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Ignores messages of the page."""

    async def live_calls(self, message: dict[str, Any]) -> None:
        self._tail.add([feed.unpacked(figures) for figures in message["calls"]], time.time())

    async def _send_frames(self) -> None:
        """Sends at most five frames a second; ends when the person may no longer see calls."""
        pulse_at = 0.0
        check_at = time.monotonic() + CHECK_SECONDS
        while True:
            now = time.monotonic()
            if now >= check_at:
                if not await sync_to_async(_may_still_see)(self._request):
                    await self.close(NOT_ALLOWED)
                    return
                await feed.watch()
                check_at = now + CHECK_SECONDS
            if self._tail.has_news or now >= pulse_at:
                await self.send_json(self._tail_frame())
                pulse_at = now + PULSE_SECONDS
            await asyncio.sleep(FRAME_SECONDS)

    def _tail_frame(self) -> dict[str, Any]:
        with timezone.override(self._zone):
            return self._tail.frame(time.time())


def _request(scope: Mapping[str, Any]) -> HttpRequest:
    """A request as Django's views get it, with the socket's query string (the filters) and cookies."""
    headers = dict(scope["headers"])
    request = HttpRequest()
    request.method, request.path = "GET", reverse("telemetry:live")
    request.GET = QueryDict(scope.get("query_string", b"").decode("latin-1"))
    request.COOKIES = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
    return request


def _may_still_see(request: HttpRequest) -> bool:
    try:
        return may_see_calls(request)
    finally:
        release_connection()


def may_see_calls(request: HttpRequest) -> bool:
    """Whether the cookie's session still belongs to staff who may see calls. Blocks."""
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    request.user = get_user(request)
    return access.may_see(request, access.SEE_CALLS)
