"""The addresses that Sluice connects to: public ones, and networks that the deployer allows. The resolved address of
each connection is checked, so no spelling of a host, no DNS name and no redirect can bypass the check."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from gateway.upstreams.errors import AddressRefused

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DEFAULT_PORTS = {"http": 80, "https": 443}
_AFTER_AUTHORITY = re.compile("[/?#]")


def _networks(*spelled: str) -> tuple[Network, ...]:
    return tuple(ip_network(each) for each in spelled)


PRIVATE = _networks("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")

# Metadata services of clouds, in public and private ranges. They hand out credentials to anyone who connects.
METADATA = _networks(
    "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32"
)

# IANA's special-purpose registry. `ipaddress.is_global` treats some of these as global.
SPECIAL_V4 = _networks(
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",
    "169.254.0.0/16",  # link-local
    "172.16.0.0/12",
    "192.0.0.0/24",  # IETF protocols
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",
    "198.18.0.0/15",  # benchmarking
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
)

# All global unicast addresses except those that embed an IPv4 address (mapped, compatible, NAT64).
GLOBAL_V6 = IPv6Network("2000::/3")
SPECIAL_V6 = _networks(
    "2001::/23",  # IETF protocols: Teredo, benchmarking, ORCHID
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
)


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Addresses that are allowed in addition to public ones. `named`: networks that ops have listed, even if they
    overlap METADATA. `private`: whether PRIVATE is allowed, except METADATA."""

    named: tuple[Network, ...] = ()
    private: bool = False

    def permits(self, address: Address) -> bool:
        if _within(address, self.named):
            return True
        if _within(address, METADATA):
            return False
        return is_public(address) or (self.private and _within(address, PRIVATE))


PUBLIC_ONLY = AllowedAddresses()
PRIVATE_TOO = AllowedAddresses(private=True)


@dataclass(frozen=True, slots=True)
class UpstreamOrigin:
    """`text`: "https://api.example.com:8443". `host` is in ASCII, as in DNS, without the brackets of IPv6. `authority`:
    host and port as a request names them. `text` and `authority` omit the scheme's default port."""

    text: str
    scheme: str
    host: str
    port: int
    authority: str


@dataclass(frozen=True, slots=True)
class Location:
    """An address in its parts. `target`: path and query, as a request names them."""

    origin: UpstreamOrigin
    target: str


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not _within(address, SPECIAL_V4)
    return address in GLOBAL_V6 and not _within(address, SPECIAL_V6)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in each for each in networks)


def allowed_networks(value: str) -> bool | tuple[Network, ...]:
    """Parses ALLOW_PRIVATE_UPSTREAMS: "false", "true", or "10.1.2.0/24, 127.0.0.1". Raises ValueError."""
    word = value.strip().lower()
    if word in ("", "0", "false", "no", "off"):
        return False
    if word in ("1", "true", "yes", "on"):
        return True
    return tuple(_network(each.strip()) for each in word.split(","))


def _network(spelled: str) -> Network:
    try:
        return ip_network(spelled)
    except ValueError:
        raise ValueError(f"{spelled!r} is not a network; expected true, false, or networks like 10.1.2.0/24") from None


def allowed() -> AllowedAddresses:
    """The addresses allowed by `settings.ALLOW_PRIVATE_UPSTREAMS`."""
    value = getattr(settings, "ALLOW_PRIVATE_UPSTREAMS", False)
    if isinstance(value, bool):
        return PRIVATE_TOO if value else PUBLIC_ONLY
    return _only_networks(tuple(value))


@lru_cache(maxsize=16)
def _only_networks(networks: tuple[Network | str, ...]) -> AllowedAddresses:
    return AllowedAddresses(tuple(ip_network(each) for each in networks))


@lru_cache(maxsize=16)
def with_private(allowed: AllowedAddresses) -> AllowedAddresses:
    return replace(allowed, private=True)


def check_url(url: str) -> None:
    """Checks an upstream's address when it is saved, without a DNS query. Raises AddressRefused."""
    host = split(url).hostname or ""
    address = _literal(host)
    if address is not None and not allowed().permits(address):
        raise refused(host)


def locate(url: str) -> Location:
    """Checks an address like `split`, but remembers known origins, which makes it faster. Raises AddressRefused."""
    found = _AFTER_AUTHORITY.search(url, url.find("://") + 3)
    end = found.start() if found else len(url)
    origin, rest = _origin_of(url[:end]), url[end:]
    if not rest.isprintable() or " " in rest or "\\" in rest:
        raise _invalid_characters(url)
    path, _, query = rest.partition("#")[0].partition("?")
    return Location(origin, f"{path or '/'}?{query}" if query else path or "/")


@lru_cache(maxsize=1024)
def _origin_of(beginning: str) -> UpstreamOrigin:
    parts = split(beginning)
    host, default = ascii_host(parts), DEFAULT_PORTS[parts.scheme]
    port = parts.port or default
    shown = f"[{host}]" if ":" in host else host
    return UpstreamOrigin(origin(parts), parts.scheme, host, port, shown if port == default else f"{shown}:{port}")


def split(url: str) -> SplitResult:
    """The parts of an absolute http or https address without credentials. Raises AddressRefused."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _invalid(url, "an address like https://api.example.com/v1") from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or port == 0:
        raise _invalid(url, "an absolute http or https address")
    if "@" in parts.netloc:
        raise _invalid(url, "an address without user or password; enter credentials in their own fields")
    if not url.isprintable() or " " in url or "\\" in url:
        raise _invalid_characters(url)
    return parts


def origin(parts: SplitResult) -> str:
    """ "https://api.example.com:8443", without the scheme's default port."""
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{parts.scheme}://{host}" + ("" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}")


def ascii_host(parts: SplitResult) -> str:
    """The host in ASCII, as in DNS (IDNA). Raises AddressRefused."""
    host = parts.hostname or ""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        raise _invalid(parts.netloc, "a host name") from None


def _literal(host: str) -> Address | None:
    """The IP address that a host denotes, even if written as 2130706433, 0x7f.1 or 0177.0.0.1; None for a name, except
    localhost."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(name.encode("idna").decode()))
    except (OSError, UnicodeError):
        return None


def refused(host: str) -> AddressRefused:
    return AddressRefused(
        f"{host} is a private or reserved address, which Sluice does not connect to.",
        reason="upstream_address",
        expected="a host on public addresses",
        suggestion="If this address is intended, the operator can allow its network in ALLOW_PRIVATE_UPSTREAMS.",
    )


def _invalid_characters(url: str) -> AddressRefused:
    return _invalid(url, "an address without spaces, backslashes and control characters")


def _invalid(url: str, expected: str) -> AddressRefused:
    scheme, _, rest = url.partition("://")
    shown = f"{scheme}://{rest.rpartition('@')[2]}".partition("?")[0] if rest else url.partition("?")[0]
    return AddressRefused(
        "Sluice does not connect to this address.",
        reason="upstream_address",
        parameter="url",
        value=shown,
        expected=expected,
    )
