"""Errors of upstreams, as shown to callers. The upstream's own message is shortened and has a field of its own. It
never becomes part of our text, because it is data and not advice."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from context_protection.core.errors import UPSTREAM, CallError


@dataclass(unsafe_hash=True)
class UpstreamError(CallError):
    """`upstream`: its status and its cleaned, shortened message, if known: {"status": 422, "message": "…"}.
    `capacity`: the known part of a rate limit, in requests: {"remaining": 0, "limit": 100}. `transient`: the same
    request may soon succeed."""

    upstream: Mapping[str, Any] | None = None
    capacity: Mapping[str, int] | None = None
    transient: bool = False

    code: ClassVar[int] = UPSTREAM
    status: ClassVar[int] = 502

    def _further_data(self) -> dict[str, Any]:
        known = {"upstream": self.upstream, "capacity": self.capacity}
        return {name: dict(each) for name, each in known.items() if each}


class UpstreamUnavailable(UpstreamError):
    """No answer, status 5xx or 429, no free connection, a rate that is used up, or an open breaker. `retry_after`:
    seconds, if known."""

    status = 503


class UpstreamTooSlow(UpstreamError):
    status = 504


class UpstreamRefused(UpstreamError):
    """The upstream rejected the request (4xx). `upstream` says why."""


class UpstreamNotFound(UpstreamRefused):
    status = 404


class UpstreamCredentials(UpstreamRefused):
    """The upstream rejected Sluice's credentials (401) or their permissions (403). The operator must correct them."""


class UpstreamGarbled(UpstreamError):
    """The answer is unusable: it is truncated, is invalid JSON, has an unknown encoding, or redirects where Sluice does
    not follow."""


class UpstreamTooLarge(UpstreamError):
    """The answer exceeds the size limit."""


class AddressRefused(UpstreamError):
    """Sluice does not connect to the upstream's address."""
