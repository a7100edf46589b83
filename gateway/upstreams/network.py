# ruff: noqa: ASYNC109 (`timeout` is httpcore2's interface)
"""Connects to checked addresses only. The name is resolved once, every address is checked, and the connection goes to
one of these addresses, so a DNS change in between has no effect."""

import asyncio
import select
import socket
import ssl
import time
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

import httpcore2

from context_protection.core.cached_property import cached_property
from gateway.upstreams.addresses import Address, AllowedAddresses, refused

IDLE_CHECK_SECONDS = 0.02  # how long the check of an idle connection stays valid; a write checks again


class Dropped(httpcore2.ReadError):
    """Upstream closed a reused connection before the first byte of this answer. Only repeatable requests are resent."""


class UnknownHost(httpcore2.ConnectError):
    """The host's name has no address."""


class Unsent(Dropped):
    """The connection was closed before a byte of the request was sent, so any request may be sent again."""


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    def __init__(self, allowed: AllowedAddresses) -> None:
        self._allowed = allowed
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises AddressRefused, httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await resolve(host, port)
                if not all(self._allowed.permits(address) for address in addresses):
                    raise refused(host)
                return ReusableStream(await self._connect(addresses, port, timeout))
        except TimeoutError:
            raise httpcore2.ConnectTimeout from None

    async def _connect(
        self, addresses: list[Address], port: int, timeout: float | None
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to the first address that answers. Each gets an equal share of the time."""
        share = timeout / len(addresses) if timeout else None
        for address in addresses[:-1]:
            try:
                return await self._plain.connect_tcp(str(address), port, share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._plain.connect_tcp(str(addresses[-1]), port, timeout)


async def resolve(host: str, port: int) -> list[Address]:
    """Every address of a host, at least one. Raises UnknownHost."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHost(str(error)) from error
    addresses = list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in found))
    if not addresses:
        raise UnknownHost("the host has no address")
    return addresses


class ReusableStream(httpcore2.AsyncNetworkStream):
    """A stream that records whether data was ever read from it, and whether an answer to the last write is pending."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._answered = self._awaits_answer = False
        self._silent_until = 0.0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = await self._stream.read(max_bytes, timeout)
        except httpcore2.ReadError as error:
            raise Dropped(str(error)) if self._is_reused_and_unanswered else error from None
        if not data and self._awaits_answer:
            raise (Dropped if self._answered else httpcore2.ReadError)("closed without an answer")
        self._answered, self._awaits_answer = True, False
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._answered and not self._awaits_answer and _is_readable(self._socket):
            raise Unsent("closed before the request was sent")
        self._awaits_answer = True
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return ReusableStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._is_readable()
        return self._stream.get_extra_info(info)

    def _is_readable(self) -> bool:
        """The pool calls this for each idle connection at the start and end of every request, so a negative result is
        reused for IDLE_CHECK_SECONDS."""
        now = time.monotonic()
        if now < self._silent_until:
            return False
        readable = _is_readable(self._socket)
        self._silent_until = 0.0 if readable else now + IDLE_CHECK_SECONDS
        return readable

    @cached_property
    def _socket(self) -> Any:
        return self._stream.get_extra_info("socket")

    @property
    def _is_reused_and_unanswered(self) -> bool:
        return self._answered and self._awaits_answer


def _is_readable(connected: Any) -> bool:
    """Whether there is data to read. On an idle connection this means that the other side has closed it."""
    if connected is None or connected.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))
