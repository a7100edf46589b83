"""The web server: uvicorn, adapted to MCP.

Requests are bounded while they arrive; in-flight calls finish before their connections close; an idle socket takes
little memory; a client that does not read is disconnected.
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
from gateway.process.bodies import LARGE_BODIES
from gateway.process.http_protocol import RequestLimits, bounded_http, raw_response

DRAIN_SECONDS = 8.0  # how long in-flight calls may take when the process is stopped
GOODBYE_SECONDS = 2  # after that, how long connections may take to close
# How long an idle connection stays open. Clients and proxies should close it first: a request that is sent while the
# server closes its connection is lost. Python's httpx waits 5 seconds, Node.js 5, nginx and load balancers 60.
IDLE_SECONDS = 75
UNREAD_SECONDS = 20  # a connection is dropped if its peer acknowledges no data for this long
BACKLOG = 2048  # connections that wait to be accepted


class CannotListen(Exception):
    """The message is a sentence to show to the user."""


def listen(host: str, port: int, *, variable: str = "PORT") -> socket.socket:
    """A listening socket. `variable` is the environment variable that sets the port. Raises CannotListen with the
    reason."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux only; accepted connections inherit the option
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            problem = (
                f"Port {port} on {host} is in use. Stop the process that listens there, or choose another port: "
                f"{variable}={port + 1}"
            )
            raise CannotListen(problem) from None
        problem = str(error).removesuffix(".")
        raise CannotListen(f"Cannot listen on {host} port {port}: {problem}. Set HOST and {variable}.") from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """The base URL: http://host:port"""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def run(
    listener: socket.socket, application: Any = "gateway.asgi:application", limits: RequestLimits | None = None
) -> None:
    """Serves an ASGI application, given as an object or an import path, until SIGINT or SIGTERM."""
    DrainingServer(configured(application, limits)).run(sockets=[listener])


def configured(application: Any = "gateway.asgi:application", limits: RequestLimits | None = None) -> uvicorn.Config:
    """uvicorn's configuration. Also prepares this process for uvicorn."""
    # uvicorn raises the signal again when it has stopped; without a handler, nothing after it would run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # sse-starlette would cut every stream at the signal; `DrainingServer` lets them finish.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
    http: Any = bounded_http(limits or RequestLimits(large_bodies=LARGE_BODIES))
    return uvicorn.Config(
        application,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        http=http,
        ws=SmallWebSocket,
        ws_max_size=settings.LARGEST_BODY,  # larger messages close the socket with 1009
        ws_per_message_deflate=False,  # costs 50 KB per socket, and more time than it saves on a local network
        server_header=False,
        proxy_headers=settings.SECURE_PROXY_SSL_HEADER is not None,
        forwarded_allow_ips=settings.FORWARDED_ALLOW_IPS,
    )


class DrainingServer(uvicorn.Server):
    """Stops accepting connections, lets in-flight calls finish, and only then closes connections."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        drained = asyncio.create_task(drain.drain(DRAIN_SECONDS))
        while not (drained.done() or self.force_exit):
            await asyncio.wait([drained], timeout=0.1)
        await super().shutdown(sockets)


class SmallWebSocket(WebSocketsSansIOProtocol):
    """Frees the data of the handshake, a fifth of an idle socket's memory. Lets a client read why a message that it is
    still sending is rejected."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # uvicorn itself would send nothing and keep the connection open
            self.transport.write(raw_response(errors.handshake_too_large()))
            self.transport.close()

    def start_keepalive(self) -> None:
        self.request: Any = None
        self.response: Any = None
        super().start_keepalive()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # otherwise uvicorn logs a rejection as a failed application

    def handle_parser_exception(self) -> None:
        """Sends the reason (1009: too big), and keeps reading for a while: closing with unread bytes would reset the
        connection, and the client would not get the reason."""
        if self.close_sent:
            return
        self.close_sent = True
        close = self.conn.close_sent
        assert close is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_timer = self.loop.call_later(RequestLimits.linger_seconds, self.transport.close)
