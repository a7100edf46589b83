"""The official client without its I/O: it builds requests and reads responses; Sluice sends the requests on the event
loop.

The client still decides what is sent, what is valid and how responses are read. Its own I/O, which blocks, is never
used. It is imported at the first request, because its dependency `requests` takes 5 MB of memory.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from context_protection.core import json_values
from gateway.connectors.nsip import answers
from gateway.connectors.nsip.needed_request import RequestNeeded
from gateway.upstreams import json_depth
from gateway.upstreams.errors import UpstreamError, UpstreamGarbled
from gateway.upstreams.request import Read, Request, Response

if TYPE_CHECKING:
    from nsip_client import NSIPClient
    from nsip_client.models import AnimalDetails, Lineage, Progeny

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

logger = logging.getLogger(__name__)


class UpstreamClient(Protocol):
    """Sends requests to an upstream: `gateway.upstreams.client.Upstream`."""

    async def fetch_and_read(
        self, request: Request, read: Read[T], *, cache_seconds: float = 0.0
    ) -> tuple[Response, T]:
        """Raises only UpstreamError."""


@dataclass(frozen=True, slots=True)
class NsipAnswer(Generic[T]):
    """An answer as the client read it. `note`: entries for `meta`. `as_of` and `fresh_until`: as in Response."""

    value: T
    as_of: float = 0.0
    fresh_until: float = 0.0
    note: Mapping[str, Any] = field(default_factory=dict)

    def with_value(self, value: U) -> "NsipAnswer[U]":
        return NsipAnswer(value, self.as_of, self.fresh_until, self.note)


@dataclass(frozen=True, slots=True)
class Profile:
    details: "AnimalDetails"
    lineage: "Lineage"
    progeny: "Progeny"


class Nsip:
    """NSIP Search. `cache_seconds` returns how long the answer of a client method may be cached."""

    def __init__(self, upstream: UpstreamClient, base_url: str, cache_seconds: Callable[[str], float]) -> None:
        self._upstream, self._base_url, self._cache_seconds = upstream, base_url, cache_seconds

    @property
    def methods(self) -> "type[NSIPClient]":
        """The client class, whose methods are passed to `ask`."""
        from nsip_client import NSIPClient

        return NSIPClient

    async def ask(
        self, method: Callable[Concatenate["NSIPClient", P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> NsipAnswer[T]:
        """The result of the client's `method`. Raises UpstreamError, whose `value` is the method's name."""
        name = method.__name__
        try:
            return await self._fetched(method, *args, **kwargs)
        except UpstreamError as error:
            raise replace(error, parameter="method", value=name, suggestion=error.suggestion or _SUGGESTION) from None

    async def profile(self, lpn_id: str) -> NsipAnswer[Profile]:
        """The client's search_by_lpn: details, lineage and progeny, requested concurrently."""
        outcomes = await asyncio.gather(
            self.ask(self.methods.get_animal_details, lpn_id),
            self.ask(self.methods.get_lineage, lpn_id),
            self.ask(self.methods.get_progeny, lpn_id),
            return_exceptions=True,  # waits for all: one may be a circuit breaker's probe, which must end
        )
        found = [_result(each) for each in outcomes]
        oldest = min(found, key=lambda answer: answer.fresh_until)
        return oldest.with_value(Profile(*(answer.value for answer in found)))

    async def _fetched(
        self, method: Callable[Concatenate["NSIPClient", P], T], *args: P.args, **kwargs: P.kwargs
    ) -> NsipAnswer[T]:
        request = _request_needed(method, *args, **kwargs).request(self._base_url)

        cache_seconds = self._cache_seconds(method.__name__)
        read = _ReadAnswer(method, args, kwargs)
        response, value = await self._upstream.fetch_and_read(request, read, cache_seconds=cache_seconds)
        return NsipAnswer(value, response.as_of, response.fresh_until, response.note(cached=False))


def _result(outcome: NsipAnswer[Any] | BaseException) -> NsipAnswer[Any]:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


_SUGGESTION = "Try again later; NSIP may not be available."
# Errors that the client's code and ours raise for an answer of an unexpected shape.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def _request_needed(
    method: Callable[Concatenate["NSIPClient", P], object], *args: P.args, **kwargs: P.kwargs
) -> RequestNeeded:
    from gateway.connectors.nsip.replay_client import ReplayClient

    try:
        method(ReplayClient(), *args, **kwargs)
    except RequestNeeded as needed:
        return needed
    raise AssertionError("the client returned without a request")


@dataclass(frozen=True, slots=True)
class _ReadAnswer(Generic[T]):
    """Reads responses with a method of the client, called with these arguments."""

    method: Callable[..., T]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    async def __call__(self, response: Response) -> T:
        """Raises UpstreamGarbled if the response is not the requested data, whatever its status."""
        from gateway.connectors.nsip.replay_client import ReplayClient

        try:
            body = _body(response)
            value = self.method(ReplayClient(body), *self.args, **self.kwargs)
            if answers.is_answer(self.method.__name__, body, value):
                return value
        except _UNREADABLE as error:
            logger.warning("NSIP's answer cannot be read", extra={"error": type(error).__name__})
        raise UpstreamGarbled(
            "NSIP answered, but not with the requested data.",
            reason="upstream_garbled",
            expected="JSON as NSIP Search documents it, with the id of its subject",
            suggestion="Try again later: NSIP may be under maintenance, or may have changed its format.",
        )


def _body(response: Response) -> Any:
    """Raises ValueError for invalid JSON, and UpstreamGarbled for JSON too deeply nested to be traversed."""
    return json_depth.loads(response.body, json_values.loads, answers.DEEPEST)
