"""Bytes of one HTTP connection: when they are read, and how responses are written."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class HoldableFlow(FlowControl):
    """While `held`, nothing is read, whoever asks for it."""

    held = False

    def resume_reading(self) -> None:
        if self.read_paused and not self.held:
            super().resume_reading()

    def hold(self) -> None:
        self.held = True
        self.pause_reading()

    def release(self) -> None:
        self.held = False
        self.resume_reading()


class Responses:
    """What responses are written to: of asyncio's transports, what uvicorn uses for that. The head of each leaves in
    one write with what follows it in the same turn of the event loop, mostly the whole body: a write costs more than
    all else that this process does to HTTP."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
        """`end`: called to close the connection."""
        self._transport, self._loop, self._end = transport, loop, end
        self._head = b""
        self.is_closing = transport.is_closing
        self.expects_head = False

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.writelines([head, data])
        elif self.expects_head:
            self.expects_head, self._head = False, data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        if self._head and not self.is_closing():
            self._transport.write(self._head)
        self._head = b""

    def close(self) -> None:
        self.flush()
        self._end()
