"""Authentication of the REST API."""

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from gateway.access.callers import CHALLENGE, caller_of
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller


class ApiKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Any, None]:
        caller: Caller = caller_of(request.headers.get("Authorization", ""), Visit.of_request(request, "rest"))
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE
