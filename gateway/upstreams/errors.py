"""What goes wrong with an upstream, as callers read it. Nothing of upstream's is repeated but a short message of its
own, as a quoted value and never in our words: what it says is data, not advice."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from context_protection.core.errors import UPSTREAM, CallError


@dataclass(frozen=True)
class UpstreamError(CallError):
    """`upstream`: {"status": 422, "message": "…"}: what it said, cut and cleaned, where that is known. `transient`:
    the same request may do better in a moment."""

    upstream: Mapping[str, Any] | None = None
    transient: bool = False

    code: ClassVar[int] = UPSTREAM
    status: ClassVar[int] = 502

    def document(self) -> dict[str, Any]:
        document = super().document()
        if self.upstream:
            document["error"]["data"]["upstream"] = dict(self.upstream)
        return document


class UpstreamUnavailable(UpstreamError):
    """No answer, one of 5xx, too many requests, or its breaker is open: `retry_after` says when to try again."""

    status = 503


class UpstreamTooSlow(UpstreamError):
    status = 504


class UpstreamRefused(UpstreamError):
    """It answered, and does not want to (4xx): `upstream` says why."""


class UpstreamNotFound(UpstreamRefused):
    status = 404


class UpstreamCredentials(UpstreamRefused):
    """It does not know Sluice (401), or does not let it (403): for the operator to mend."""


class UpstreamGarbled(UpstreamError):
    """What it answered is not what it should be: no JSON, no identity, cut off, redirects without end."""


class UpstreamTooLarge(UpstreamError):
    """Its answer is longer than Sluice reads."""


class AddressRefused(UpstreamError):
    """Where it is, Sluice does not connect to."""
