"""Repeated requests of the REST API, answered from the response cache without Django.

Middleware, routing, authentication and view take ten times as long as the cached response. A request that equals an
earlier one, header by header, would lead to the same call, so that call is remembered. The cached response is checked
for validity as for every call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_protection.core.cache_budget import Cache, CacheBudget, cache_budget
from context_protection.core.errors import NotAuthenticated
from context_protection.core.payloads import Envelope
from gateway.access import callers
from gateway.access.keys import digest
from gateway.access.programs import Program
from gateway.access.transports import Transport
from gateway.api.call import CALL
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import repeated_answer
from gateway.tracing import spans
from gateway.tracing.identity import HEADER, TRACEPARENT

PATHS = "/api/v1/"
BEARER = b"bearer "
AUTHORIZATION = b"authorization"
# Headers that a `RequestKey` omits: it has the digest of the API key, and the others differ in every request.
OF_THE_REQUEST = frozenset({AUTHORIZATION, HEADER, TRACEPARENT.encode(), b"tracestate"})
OF_THE_RESPONSE = frozenset({b"set-cookie", b"content-encoding"})  # a response with one of them is not remembered
LONGEST = 8000  # bytes of a remembered request
OVERHEAD = 3000  # bytes of a remembered request besides its key: arguments, headers and their objects

Headers = Sequence[tuple[bytes, bytes]]
RequestKey = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The call that a request makes. `headers`: those of the response, without Content-Length."""

    operation: str
    arguments: Mapping[str, Any]
    program: Program
    headers: Headers


class RepeatedRequests:
    """Wraps the ASGI application that answers all other requests."""

    def __init__(self, application: Any, budget: CacheBudget = cache_budget) -> None:
        self.application = application
        self._known: Cache[RequestKey, KnownRequest] = Cache("repeated requests", budget)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        secret = _secret(scope)
        if secret is None:
            await self.application(scope, receive, send)
            return
        key = _key(scope, secret)
        known = self._known.get(key)
        envelope = None if known is None else _cached(known, secret)
        if known is None or envelope is None:
            response = _ObservedResponse(send)
            await self.application(scope, receive, response.send)
            self._remember(key, scope.get(CALL), response)
            return
        headers = [*known.headers, (b"content-length", str(len(envelope.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": envelope.body})

    def _remember(self, key: RequestKey, call: Call | None, response: "_ObservedResponse") -> None:
        length = len(str(key))
        if call is None or call.key is None or not response.is_lasting or length > LONGEST:
            return
        headers = [each for each in response.headers if each[0].lower() != b"content-length"]
        known = KnownRequest(call.operation, call.arguments, call.program, headers)
        self._known.put(key, known, 2 * length + OVERHEAD)


class _ObservedResponse:
    """Passes a response on, and notes its status and headers."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._status = 0
        self.headers: Headers = ()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status, self.headers = message["status"], message["headers"]
        await self._send(message)

    @property
    def is_lasting(self) -> bool:
        return self._status == 200 and not any(name.lower() in OF_THE_RESPONSE for name, _ in self.headers)


def _secret(scope: dict[str, Any]) -> str | None:
    """The API key of a request that can be remembered: a GET without a body. None while tracing is on, because the
    skipped layers create spans."""
    if scope["method"] != "GET" or not scope["path"].startswith(PATHS) or spans.tracer is not None:
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    authorization = headers.get(AUTHORIZATION, b"")
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    if has_body or authorization[: len(BEARER)].lower() != BEARER:
        return None
    return authorization[len(BEARER) :].decode("latin-1").strip()


def _key(scope: dict[str, Any], secret: str) -> RequestKey:
    """Equal for requests that get the same response. Contains the digest of the API key, not the API key."""
    headers = tuple(each for each in scope["headers"] if each[0] not in OF_THE_REQUEST)
    return digest(secret), scope.get("scheme"), scope["path"], scope.get("query_string"), headers


def _cached(known: KnownRequest, secret: str) -> Envelope | None:
    """The cached response, if it is no error and still valid for the API key."""
    keys = callers.current()
    if keys is None:
        return None
    try:
        caller = callers.caller_of_key(secret, keys)
    except NotAuthenticated:  # Django then rejects the request, and the rejection is recorded
        return None
    call = Call(known.operation, known.arguments, caller, Transport.REST, hints.rest, program=known.program)
    return repeated_answer(call)
