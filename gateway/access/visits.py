"""How somebody came to a door, before it is known who."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from gateway.access.addresses import address_of

PAGE = "page"  # the door of what is not the API


@dataclass(frozen=True, slots=True)
class Visit:
    door: str
    address: (
        str  # of the client; of the proxy in front, unless BEHIND_PROXY is set (uvicorn reads X-Forwarded-For then)
    )

    @classmethod
    def of(cls, scope: dict[str, Any], door: str) -> "Visit":
        client = scope.get("client")
        return cls(door, client[0] if client else "")

    @classmethod
    def of_request(cls, request: HttpRequest, door: str) -> "Visit":
        return cls(door, address_of(request))
