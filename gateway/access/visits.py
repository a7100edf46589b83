"""The way in which a request reached the server, before its caller is known."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from gateway.access.addresses import address_of
from gateway.access.transports import Transport


@dataclass(frozen=True, slots=True)
class Visit:
    transport: Transport
    # The client's address. Behind a proxy, it is the proxy's address, unless BEHIND_PROXY is set (see addresses.py).
    address: str

    @classmethod
    def of(cls, scope: dict[str, Any], transport: Transport) -> "Visit":
        client = scope.get("client")
        return cls(transport, client[0] if client else "")

    @classmethod
    def of_request(cls, request: HttpRequest, transport: Transport) -> "Visit":
        return cls(transport, address_of(request))
