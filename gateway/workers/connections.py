"""The parent process accepts all connections, and hands each to the worker that has the fewest.

Workers that accept from one socket would not share the load: the first to wake would take most connections. Instead, a
stream socket links the parent to each worker. The parent sends one byte with each connection's file descriptor. The
worker reports how many connections are open, and how many it has received in all. Its first report means that it can
answer. The end of the stream means that the other process has ended, or that the worker takes no more connections.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

REPORT = struct.Struct("!II")  # open connections, connections received so far
MOST_ON_THE_WAY = 64  # connections that were handed to a worker and not yet received
AT_ONCE = 64  # connections accepted or received before the event loop does other work
RETRY_SECONDS = 1.0  # pause after the system has refused to accept a connection
GOODBYE_SECONDS = 1.0  # how long a stopping worker waits for the parent to notice
logger = logging.getLogger(__name__)


class WorkerLink:
    """The parent's end."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called after each report, and at the end of the stream."""
        self._own, self.workers_end = socket.socketpair()
        self._own.setblocking(False)
        self._changed = changed
        self._open = self._received = self._handed = 0
        self._unread = b""
        self.is_ready = False
        self.has_been_ready = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._own, self._read)

    @property
    def connections(self) -> int:
        """The connections that the worker has, or is about to get."""
        return self._open + self._handed - self._received

    @property
    def may_take(self) -> bool:
        return self.is_ready and self._handed - self._received < MOST_ON_THE_WAY

    def hand(self, connection: socket.socket) -> bool:
        """Sends the connection to the worker; False if that failed. The caller closes its own copy."""
        try:
            socket.send_fds(self._own, [b"c"], [connection.fileno()])
        except OSError:
            self.is_ready = False  # the worker has ended
            return False
        self._handed += 1
        return True

    def close(self) -> None:
        self.is_ready = False
        if self._own.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._own)
            self._own.close()

    def _read(self) -> None:
        try:
            data = self._own.recv(REPORT.size * 64)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        self._unread += data
        whole = len(self._unread) // REPORT.size * REPORT.size
        if whole:
            self._open, self._received = REPORT.unpack(self._unread[whole - REPORT.size : whole])
            self._unread, self.is_ready = self._unread[whole:], True
            self.has_been_ready.set()
        self._changed()


class Distributor:
    """Once opened, accepts connections while any worker can take one. Otherwise connections wait in the listener's
    backlog."""

    def __init__(self, listener: socket.socket, links: Callable[[], Iterable[WorkerLink]]) -> None:
        self._listener, self._links = listener, links
        self._loop = asyncio.get_running_loop()
        self._is_open = self._is_accepting = False
        listener.setblocking(False)

    def open(self) -> None:
        self._is_open = True
        self.resume()

    def resume(self) -> None:
        """To be called when a worker may have become able to take connections."""
        if self._is_open and not self._is_accepting and any(link.may_take for link in self._links()):
            self._loop.add_reader(self._listener, self._accept)
            self._is_accepting = True

    def close(self) -> None:
        self._pause()
        self._is_open = False
        self._listener.close()

    def _pause(self) -> None:
        if self._is_accepting:
            self._loop.remove_reader(self._listener)
            self._is_accepting = False

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            if not any(link.may_take for link in self._links()):
                self._pause()
                return
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # no file descriptor is left, or the client has already disconnected
                logger.warning("a connection was not accepted", extra={"error": str(error)})
                self._pause()
                self._loop.call_later(RETRY_SECONDS, self.resume)
                return
            with connection:
                self._hand(connection)

    def _hand(self, connection: socket.socket) -> None:
        while takers := [link for link in self._links() if link.may_take]:
            if min(takers, key=lambda link: link.connections).hand(connection):
                return


class ReceivedConnections:
    """The worker's end. `take` is called on the event loop with each connection; `count` returns how many are open;
    `ended` is called once, when the parent has ended or has closed the link, as it does after `stop`."""

    def __init__(
        self,
        descriptor: int,
        take: Callable[[socket.socket], None],
        count: Callable[[], int],
        ended: Callable[[], None],
    ) -> None:
        self._link = socket.socket(fileno=descriptor)
        self._link.setblocking(False)
        self._take, self._count, self._ended = take, count, ended
        self._received = 0
        self._has_ended = asyncio.Event()
        self._reported: tuple[int, int] | None = None

    def start(self) -> None:
        asyncio.get_running_loop().add_reader(self._link, self._read)
        self.report()

    def report(self) -> None:
        """Sends the counts if they have changed. To be called regularly."""
        now = self._count(), self._received
        if now != self._reported:
            with suppress(OSError):  # either the parent is busy, and the next call will report; or it has ended
                self._link.send(REPORT.pack(*now))
                self._reported = now

    async def stop(self) -> None:
        """Tells the parent to hand over no more connections, and takes those that the parent sends before it
        notices."""
        with suppress(OSError):  # the parent has ended
            self._link.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._has_ended.wait()
        asyncio.get_running_loop().remove_reader(self._link)
        self._link.close()

    def _read(self) -> None:
        for _ in range(AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._link, 1, 1)
            except BlockingIOError:
                break
            except OSError:
                data, descriptors = b"", []
            if not data:
                asyncio.get_running_loop().remove_reader(self._link)
                self._has_ended.set()
                self._ended()
                return
            self._received += len(data)  # includes lost connections: they too are no longer on the way
            if not descriptors:
                logger.warning("a connection was lost, because this process has no file descriptor left")
            for descriptor in descriptors:
                self._take(socket.socket(fileno=descriptor))
        self.report()
