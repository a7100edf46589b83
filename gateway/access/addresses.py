"""The client's address, which the server has already set: the connection's or, with BEHIND_PROXY, the one in
X-Forwarded-For (gateway/process/web.py)."""

import ipaddress

from django.http import HttpRequest

SHOWN_CHARS = 64
PREFIXES = {4: 24, 6: 48}  # bits by IP version: enough to group calls, too few to identify the caller
IPV6_PREFIX = 64  # bits of the network that a provider assigns to one customer, who can use all its addresses


def address_of(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")[:SHOWN_CHARS]


def network_of(address: str) -> str:
    """The key by which failed logins are counted: an IPv4 address, or the network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:SHOWN_CHARS]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((int(parsed), IPV6_PREFIX), strict=False))
    return str(parsed)


def prefix_of(address: str) -> str:
    """The wider network of an address, for records: 203.0.113.0/24. Empty for a text that is no address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return str(ipaddress.ip_network((int(parsed), PREFIXES[parsed.version]), strict=False))
