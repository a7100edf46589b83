"""The web server of a process: uvicorn, with what MCP asks of it.

Requests are bounded while they arrive; calls in flight end before their connections do; an idle socket is small;
whoever does not read is dropped.
"""

import asyncio
import errno
import signal
import socket
import sys
from typing import Any

import uvicorn
from django.conf import settings
from sse_starlette.sse import AppStatus
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway.process import drain, errors
from gateway.process.bodies import large_bodies
from gateway.process.http_protocol import Limits, bounded_http, raw_response

DRAIN_SECONDS = 8.0  # for the calls in flight when the process is told to stop
GOODBYE_SECONDS = 2  # for connections to close after that
UNREAD_SECONDS = 20  # after which a connection is cut whose other end takes nothing any more
BACKLOG = 2048  # connections that wait to be accepted


class CannotListen(Exception):
    """A sentence for people."""


def listen(host: str, port: int, *, variable: str = "PORT") -> socket.socket:
    """A listening socket, of the port that `variable` of the environment sets. Raises CannotListen that says what is
    in the way."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; its connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            problem = (
                f"Port {port} on {host} is taken. Stop what listens there, or choose another: {variable}={port + 1}"
            )
            raise CannotListen(problem) from None
        raise CannotListen(f"Cannot listen on {host} port {port}: {error}. Set HOST and {variable}.") from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """http://host:port"""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def run(listener: socket.socket, application: Any = "gateway.asgi:application", limits: Limits | None = None) -> None:
    """Serves an ASGI application, or the one of that name, until SIGINT or SIGTERM."""
    # uvicorn raises the signal again when it has stopped; without a handler, nothing after it would run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # It cuts every stream at the signal; `DrainingServer` lets them end.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
    http: Any = bounded_http(limits or Limits(large_bodies=large_bodies()))
    config = uvicorn.Config(
        application,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        http=http,
        ws=SmallWebSocket,
        ws_max_size=settings.LARGEST_BODY,  # more is closed with 1009
        ws_per_message_deflate=False,  # 50 KB a socket, and time that a local network does not pay back
        server_header=False,
        proxy_headers=settings.SECURE_PROXY_SSL_HEADER is not None,
    )
    DrainingServer(config).run(sockets=[listener])


class DrainingServer(uvicorn.Server):
    """Stops accepting, lets the calls in flight finish, and only then closes connections."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        drained = asyncio.create_task(drain.drain(DRAIN_SECONDS))
        while not (drained.done() or self.force_exit):
            await asyncio.wait([drained], timeout=0.1)
        await super().shutdown(sockets)


class SmallWebSocket(WebSocketsSansIOProtocol):
    """Forgets the handshake when it is over, which is a fifth of an idle socket's memory; and lets a client that is
    refused in the middle of a message read why."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # uvicorn says nothing, and keeps the connection
            self.transport.write(raw_response(errors.handshake_too_large()))
            self.transport.close()

    def start_keepalive(self) -> None:
        self.request: Any = None
        self.response: Any = None
        super().start_keepalive()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # by a refusal; else it is logged as an application that failed

    def handle_parser_exception(self) -> None:
        """Sends the reason (1009: too big), and goes on taking what is under way: closing with unread bytes would
        reset the connection, and the reason with it."""
        if self.close_sent:
            return
        self.close_sent = True
        close = self.conn.close_sent
        assert close is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_timer = self.loop.call_later(Limits.linger_seconds, self.transport.close)
