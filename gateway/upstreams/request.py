"""One exchange with an upstream: request and response."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from context_protection.core import json_values
from gateway.upstreams import json_depth

T = TypeVar("T")

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Request:
    """`url`: absolute and percent-encoded, with its query. `repeatable`: whether the request is idempotent; None:
    decided by its method. `secrets`: texts in the request that no log and no error may repeat."""

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
    """`headers` have lower-case names; `body` is complete and decoded. `as_of`: when it was received, Unix seconds.
    `fresh_until`: the time.monotonic() until which it is fresh in the cache. `stale`: served after that, because the
    upstream has failed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    as_of: float = field(default_factory=time.time)
    fresh_until: float = 0.0
    stale: bool = False

    def with_fresh_until(self, fresh_until: float) -> "Response":
        """The same response with another freshness. dataclasses.replace takes three times as long."""
        return Response(self.status, self.headers, self.body, self.as_of, fresh_until, self.stale)

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters: "application/json"."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def version(self) -> bytes:
        """A digest of status, content type and body, equal for equal answers. It takes less than 1 ms per MB, because
        processors have instructions for SHA-256."""
        digest = hashlib.sha256(f"{self.status} {self.headers.get('content-type')}\n".encode())
        digest.update(self.body)
        return digest.digest()

    def note(self, *, cached: bool) -> dict[str, Any]:
        """The entries for an answer's `meta`: `asOf` if the response is `cached` or stale, and `stale` if it is
        stale."""
        if not (cached or self.stale):
            return {}
        as_of = datetime.fromtimestamp(self.as_of, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"asOf": as_of, **({"stale": True} if self.stale else {})}

    def json(self) -> Any:
        """Parsed by `json_values.loads`. Raises ValueError for invalid JSON, UpstreamGarbled for too deep nesting."""
        return json_depth.loads(self.body, json_values.loads)


Read = Callable[[Response], Awaitable[T]]
"""Returns the content of the response. Raises UpstreamGarbled for an invalid response, which then counts as a failure
of the upstream and is never cached. Equal requests in flight share the content if their `Read` objects are equal."""

Send = Callable[[Request], Awaitable[Response]]
"""One exchange without authentication, retries or cache; deadline, size limit and address check apply."""


def with_header(request: Request, name: str, value: str) -> Request:
    """The request with this header, which replaces any header of the same name."""
    others = {each: text for each, text in request.headers.items() if each.lower() != name.lower()}
    return replace(request, headers={**others, name: value})
