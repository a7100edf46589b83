"""Connects to checked addresses only. The name is resolved once, every address is checked, and the connection goes to
one of these addresses, so a DNS change in between has no effect."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from ipaddress import ip_address
from typing import TypeVar

import httpcore2

from gateway.upstreams.addresses import Address, AllowedAddresses, refused

T = TypeVar("T")


class UnknownHost(Exception):
    """The host's name has no address."""


async def connected_socket(host: str, port: int, allowed: AllowedAddresses, seconds: float) -> socket.socket:
    """Raises AddressRefused, UnknownHost, OSError; TimeoutError after `seconds`, which include the DNS query."""

    async def connect(address: Address, share: float) -> socket.socket:
        async with asyncio.timeout(share):
            return await _connected(address, port)

    async with asyncio.timeout(seconds):
        return await first_connected(await checked_addresses(host, port, allowed), connect, seconds)


async def first_connected(
    addresses: list[Address],
    connect: Callable[[Address, float], Awaitable[T]],
    seconds: float,
    failures: tuple[type[Exception], ...] = (OSError,),
) -> T:
    """Connects to the first address that answers. Each address but the last gets an equal share of `seconds`."""
    share = seconds / len(addresses)
    for address in addresses[:-1]:
        try:
            return await connect(address, share)
        except failures:
            continue
    return await connect(addresses[-1], seconds)


async def checked_addresses(host: str, port: int, allowed: AllowedAddresses) -> list[Address]:
    """Every address of a host. Raises UnknownHost, or AddressRefused if any address is not allowed."""
    addresses = await resolve(host, port)
    if not all(allowed.permits(address) for address in addresses):
        raise refused(host)
    return addresses


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


async def _connected(address: Address, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (str(address), port))
    except BaseException:
        made.close()
        raise
    return made


@cache
def tls_context() -> ssl.SSLContext:
    """Trusts the certificates of the system or of SSL_CERT_FILE, and verifies host names."""
    context = httpcore2.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
