"""How a request reached the server, before its caller is known."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from gateway.access.addresses import address_of

PAGE = "page"  # the transport of pages outside the API


@dataclass(frozen=True, slots=True)
class Visit:
    transport: str
    # The client's address. Behind a proxy the proxy's, unless BEHIND_PROXY is set: uvicorn then reads X-Forwarded-For.
    address: str

    @classmethod
    def of(cls, scope: dict[str, Any], transport: str) -> "Visit":
        client = scope.get("client")
        return cls(transport, client[0] if client else "")

    @classmethod
    def of_request(cls, request: HttpRequest, transport: str) -> "Visit":
        return cls(transport, address_of(request))
