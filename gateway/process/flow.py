"""Flow control of one HTTP connection: when bytes are read, and how responses are written."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class HoldableFlow(FlowControl):
    """While `held`, nothing is read, even if uvicorn resumes reading."""

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
    """Implements the part of asyncio's transport API that uvicorn uses to write responses. Sends a response's head in
    one write with the bytes that follow in the same event-loop iteration, usually the whole body: a write costs more
    than all other HTTP work of this process."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
        """`end` is called to close the connection."""
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
