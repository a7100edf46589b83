"""Django's ASGI handler with reused threads. A thread starts on a request only after its whole body has arrived."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler

from context_protection.core.errors import CallError
from gateway.access import rejected_calls
from gateway.access.handshake import Handshake, send_error
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.process.bodies import LARGEST_BODY, ClientGone, MemoryShare, read_body
from gateway.process.gates import Gate
from gateway.process.senders import REST, Sender
from gateway.process.wait import until_taken

MAX_THREADS = 16  # each may hold a database connection, so further requests wait for a thread and not for a connection
SLOT_SECONDS = 10.0  # maximum wait for a thread


class WholeRequest:
    """The ASGI `receive` of a request whose body has been read."""

    def __init__(self, body: Any, receive: Any) -> None:
        self.body = body
        self._receive = receive

    async def __call__(self) -> Any:
        return await self._receive()


class PooledHandler(ASGIHandler):
    """Gives each concurrent request its own thread, which is reused. Django's handler starts a thread for every
    request and joins it afterwards, which takes longer than most requests."""

    def __init__(
        self, threads: int = MAX_THREADS, slot_seconds: float = SLOT_SECONDS, gate: Gate | None = None
    ) -> None:
        super().__init__()
        self.slot_seconds = slot_seconds
        self._idle: deque[ThreadPoolExecutor] = deque()
        self._free = asyncio.Semaphore(threads)
        self._gate = gate or Gate()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(ClientGone):
            try:
                await self._serve(scope, receive, send)
            except CallError as error:
                if scope["path"].startswith(REST):
                    rejected_calls.record(error, Visit.of(scope, Transport.REST))
                await send_error(send, error)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Raises CallError or ClientGone, but only before any part of the response is sent."""
        if scope["path"].startswith(REST):
            Handshake.of(scope).check_origin()
        sender = await Sender.of(scope)
        with MemoryShare(sender.memory) as share, SpooledTemporaryFile(max_size=LARGEST_BODY) as body:
            await read_body(receive, body.write, share, sender.most)
            body.seek(0)
            if not self._gate.guards(scope):
                await self._handle(scope, body, receive, send)
                return
            async with self._gate.entered(scope, receive):
                await self._handle(scope, body, receive, send)

    async def _handle(self, scope: Any, body: Any, receive: Any, send: Any) -> None:
        """Returns when the thread has finished, even if the client disconnects earlier."""
        async with self._slot(receive) as executor, ThreadSensitiveContext(executor=executor):
            await self.handle(scope, WholeRequest(body, receive), send)

    async def read_body(self, receive: Any) -> Any:
        return receive.body

    def load_middleware(self, is_async: bool = False) -> None:
        """Makes all middleware synchronous, for `get_response_async`. Otherwise Django would change threads twice for
        each one."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: Any) -> Any:
        """Runs middleware and view on the request's thread."""
        return await sync_to_async(self.get_response)(request)

    @asynccontextmanager
    async def _slot(self, receive: Any) -> AsyncIterator[ThreadPoolExecutor]:
        """Waits for a free thread. Raises Busy or ClientGone."""
        if self._free.locked():
            await until_taken(self._free.acquire(), receive, self.slot_seconds)
        else:
            await self._free.acquire()
        executor = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="django")
        try:
            yield executor
        finally:
            self._idle.append(executor)
            self._free.release()
