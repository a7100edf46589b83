"""Builds the errors of failed exchanges: which upstream, what happened, what to do next. They never contain its
address, query or credentials."""

import math
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from gateway.upstreams import messages
from gateway.upstreams.addresses import refused
from gateway.upstreams.errors import (
    AddressRefused,
    UpstreamCredentials,
    UpstreamError,
    UpstreamGarbled,
    UpstreamNotFound,
    UpstreamRefused,
    UpstreamTooLarge,
    UpstreamTooSlow,
    UpstreamUnavailable,
)
from gateway.upstreams.exchanges import Authentication, Response

LONGEST_WAIT = 3600  # the largest retry_after, in seconds
TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})


class Failures:
    """The errors of one upstream. `secrets`: those of a request; upstream may repeat them, like the credential."""

    def __init__(self, name: str, authentication: Authentication, secrets: Sequence[str] = ()) -> None:
        self._name, self._authentication, self._secrets = name, authentication, secrets

    def hiding(self, secrets: Sequence[str]) -> "Failures":
        """The same errors, for a request that contains these secrets."""
        return Failures(self._name, self._authentication, secrets) if secrets else self

    def of_status(self, response: Response) -> UpstreamError | None:
        """The error for a status; None for 2xx, and for 304, which answers conditional requests only."""
        status = response.status
        if 200 <= status < 300 or status == 304:
            return None
        if status == 429:
            return self._busy(response)
        if status >= 500:
            return self._failed(response)
        if status in (401, 403):
            return self._credentials(response)
        if status >= 400:
            return self._refused(response)
        return self.garbled(f"status {status}")

    def unreachable(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} cannot be reached: no connection, or it was closed without an answer.",
            reason="upstream_unreachable",
            suggestion="Try again in a minute. If it stays, the operator should look at its address and the network.",
            transient=True,
        )

    def certificate(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} cannot be reached safely: its certificate is not valid.",
            reason="upstream_unreachable",
            suggestion="Trying again does not help. The operator should look at the address, or trust its issuer.",
        )

    def crowded(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            "Sluice has no connection free: too many calls wait for slow upstreams.",
            reason="upstream_crowded",
            suggestion="Try again in a few seconds.",
            retry_after=5,
        )

    def resting(self, seconds: float) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} has failed several times in a row, and is left alone for a moment.",
            reason="upstream_unavailable",
            suggestion="Try again when retry_after seconds have passed.",
            retry_after=_whole(seconds),
        )

    def limited(self, seconds: float) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} takes no more calls for now: the rate that it was given is used up.",
            reason="upstream_rate",
            suggestion="Try again when retry_after seconds have passed, with fewer calls that ask for more at once.",
            retry_after=_whole(seconds),
        )

    def too_slow(self, seconds: float) -> UpstreamTooSlow:
        return UpstreamTooSlow(
            f"{self._name} did not answer within {seconds:g} seconds.",
            reason="upstream_timeout",
            suggestion="Ask for less at once (filters, a smaller page), or try again later.",
        )

    def too_large(self, most_bytes: int) -> UpstreamTooLarge:
        return UpstreamTooLarge(
            f"{self._name} answered with more than {most_bytes / 2**20:.3g} MB, which is the most that is read.",
            reason="upstream_too_large",
            suggestion="Ask it for less: fewer fields, filters, a smaller page.",
        )

    def garbled(self, what: str) -> UpstreamGarbled:
        return UpstreamGarbled(
            f"{self._name} gave an answer that cannot be read: {what}.",
            reason="upstream_garbled",
            suggestion="Try again once. If it stays, tell the operator: the API may have changed or be broken.",
        )

    def redirected(self, what: str) -> UpstreamGarbled:
        return UpstreamGarbled(
            f"{self._name} redirects {what}, which is not followed.",
            reason="upstream_redirect",
            suggestion="Trying again does not help. The operator should set the API's address to where it is now.",
        )

    def address(self) -> AddressRefused:
        return refused(f"The address of {self._name}")

    def unsendable(self) -> UpstreamRefused:
        return UpstreamRefused(
            f"The request to {self._name} cannot be sent over HTTP: its address or a header has odd characters.",
            reason="upstream_request",
            suggestion="Look for line breaks or control characters in the arguments.",
        )

    def _busy(self, response: Response) -> UpstreamUnavailable:
        seconds = retry_after(response)
        return UpstreamUnavailable(
            f"{self._name} has had too many requests for now.",
            reason="upstream_busy",
            suggestion="Wait (retry_after, where it is known), then try again with fewer calls.",
            retry_after=_whole(seconds) if seconds is not None else None,
            upstream=self._upstream_details(response),
            transient=True,
        )

    def _failed(self, response: Response) -> UpstreamUnavailable:
        seconds = retry_after(response)
        return UpstreamUnavailable(
            f"{self._name} failed on its side (status {response.status}).",
            reason="upstream_failed",
            suggestion="Try again in a minute; if it stays, ask for something else, or tell the operator.",
            retry_after=_whole(seconds) if seconds is not None else None,
            upstream=self._upstream_details(response),
            transient=response.status in TRANSIENT_STATUSES,
        )

    def _refused(self, response: Response) -> UpstreamRefused:
        if response.status == 404:
            return UpstreamNotFound(
                f"{self._name} has nothing under what was asked for.",
                reason="upstream_refused",
                suggestion="Look at the ids and names in the arguments; a list or search gives valid ones.",
                upstream=self._upstream_details(response),
            )
        return UpstreamRefused(
            f"{self._name} does not accept the request (status {response.status}).",
            reason="upstream_refused",
            suggestion="Change the arguments by what upstream.message says, where there is one.",
            upstream=self._upstream_details(response),
        )

    def _credentials(self, response: Response) -> UpstreamCredentials:
        what = "know" if response.status == 401 else "allow this for"
        return UpstreamCredentials(
            f"{self._name} does not {what} the credentials that Sluice has for it (status {response.status}).",
            reason="upstream_credentials",
            suggestion="Trying again does not help. The operator should renew these credentials, or what they allow.",
            upstream=self._upstream_details(response),
        )

    def _upstream_details(self, response: Response) -> dict[str, Any]:
        message = messages.message(response, [*self._authentication.secrets, *self._secrets])
        return {"status": response.status} | ({"message": message} if message else {})


def retry_after(response: Response) -> float | None:
    """The seconds that upstream demands, given as a number or a date; None if missing or unreadable."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:10])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _whole(seconds: float) -> int:
    return max(1, min(LONGEST_WAIT, math.ceil(seconds)))
