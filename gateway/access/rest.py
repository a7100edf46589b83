"""Authentication of the REST API."""

from typing import Any, ClassVar

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from gateway.access.callers import CHALLENGE, caller_of
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller


class ApiKeyAuthentication(BaseAuthentication):
    transport: ClassVar = Transport.REST

    def authenticate(self, request: Request) -> tuple[Any, None]:
        visit = Visit.of_request(request, self.transport)
        caller: Caller = caller_of(request.headers.get("Authorization", ""), visit)
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE
