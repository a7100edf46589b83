"""A worker process: a web server that gets its connections from the parent process."""

import asyncio
import logging
import socket
from typing import Any

import uvicorn

from gateway.process.web import DrainingServer, configured
from gateway.workers.connections import ReceivedConnections

logger = logging.getLogger(__name__)


def run(descriptor: int) -> None:
    """Serves until SIGTERM, or until the parent has ended. `descriptor`: the file descriptor of the socket to the
    parent."""
    HandedServer(configured(), descriptor).run(sockets=[])


class HandedServer(DrainingServer):
    def __init__(self, config: uvicorn.Config, descriptor: int) -> None:
        super().__init__(config)
        self._descriptor = descriptor
        self._received: ReceivedConnections | None = None
        self._arriving: set[asyncio.Task[Any]] = set()  # connections without a protocol yet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._received = ReceivedConnections(self._descriptor, self._take, self._count, self._parent_is_gone)
        self._received.start()

    async def on_tick(self, counter: int) -> bool:
        if self._received is not None:
            self._received.report()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._received is not None:
            await self._received.stop()
        await super().shutdown(sockets)

    def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        opening = asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        task = asyncio.ensure_future(opening)
        self._arriving.add(task)
        task.add_done_callback(self._arrived)

    def _arrived(self, task: asyncio.Task[Any]) -> None:
        self._arriving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:  # the client has already disconnected
            logger.debug("a connection was not taken", extra={"error": type(error).__name__})

    def _protocol(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _count(self) -> int:
        return len(self.server_state.connections) + len(self._arriving)

    def _parent_is_gone(self) -> None:
        self.should_exit = True
