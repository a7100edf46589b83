"""One exchange with an upstream: what is sent, and what came back."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from gateway.upstreams import nesting

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Request:
    """`url` is absolute, with its query, percent-encoded. `repeatable`: sent twice, it does no more than once; of a
    method that is not safe, only who knows the operation can say so. `secrets`: texts in it that neither
    a log nor an error repeats."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    repeatable: bool | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def may_be_repeated(self) -> bool:
        return self.method in SAFE_METHODS if self.repeatable is None else self.repeatable


@dataclass(frozen=True, slots=True)
class Response:
    """`headers` by lower-case names; `body` whole, without its content encoding. `as_of`: when it was received, Unix
    seconds. `fresh_until`: time.monotonic() until which it is given again without a question. `stale`: it is given
    although that has passed, since upstream does not answer. `content`: what `accept` has read out of it; None of an
    answer of before."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    as_of: float = field(default_factory=time.time)
    fresh_until: float = 0.0
    stale: bool = False
    content: Any = field(default=None, repr=False, compare=False)

    @property
    def media_type(self) -> str:
        """In lower case and without parameters: "application/json"."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def version(self) -> bytes:
        """Equal for equal answers: a digest of status, type and body, which takes 1 ms for each MB."""
        digest = hashlib.blake2b(f"{self.status} {self.headers.get('content-type')}\n".encode(), digest_size=16)
        digest.update(self.body)
        return digest.digest()

    def note(self, *, kept: bool) -> dict[str, Any]:
        """What an answer's `meta` says: when upstream said it, of what is `kept` to be given again; and that it is old,
        where upstream does not answer."""
        if not (kept or self.stale):
            return {}
        as_of = datetime.fromtimestamp(self.as_of, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"asOf": as_of, **({"stale": True} if self.stale else {})}

    def json(self) -> Any:
        """Raises orjson.JSONDecodeError, and UpstreamGarbled for what is nested too deeply."""
        return nesting.loads(self.body)


Accept = Callable[[Response], Awaitable[Response]]
"""Reads what upstream answered, into `content`. Raises UpstreamGarbled for what is no answer: it is then treated as a
failure of upstream's, and never kept."""

Send = Callable[[Request], Awaitable[Response]]
"""One exchange without authentication, retries or kept answers; its deadline, size and address are looked at."""


class Authentication(Protocol):
    """How Sluice says who it is. `secrets`: what is masked wherever text of upstream's leaves."""

    @property
    def secrets(self) -> Sequence[str]: ...

    async def apply(self, request: Request, send: Send) -> Request:
        """The request with its credentials, which may first be fetched by `send`. Raises UpstreamError."""

    async def renewed(self, refused: Response, send: Send) -> bool:
        """After 401 or 403: whether there are other credentials now, so that the request is sent once more."""


class NoAuthentication:
    secrets: Sequence[str] = ()

    async def apply(self, request: Request, send: Send) -> Request:
        return request

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False


NO_AUTHENTICATION = NoAuthentication()
