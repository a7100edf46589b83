"""Builds the errors of failed exchanges: which upstream, what happened, what to do next. The errors never contain the
upstream's address, query or credentials. They repeat the upstream's message only after cleaning: short, printable,
without secrets."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import orjson

from context_protection.core.redaction import redact_text
from gateway.upstreams import error_messages
from gateway.upstreams.addresses import refused
from gateway.upstreams.auth.authentication import Authentication
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
from gateway.upstreams.quota import UNKNOWN_WAIT, capacity, retry_after, seconds_to_wait, whole_seconds
from gateway.upstreams.request import Response

TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})

MAX_CHARS = 300
MAX_BYTES_READ = 64 * 1024  # a larger body is not searched for a message
MASK = "***"
SHORTEST_SECRET = 4

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
INVISIBLE_CATEGORIES = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Cn"}
)  # controls, bidi, zero width, tags, surrogates, private use
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")

TOKENS = (
    re.compile(r"(?i)\b(?:bearer|basic|digest|token)\s+[\w.~+/=-]{8,}"),
    re.compile(r"\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?"),  # JSON Web Tokens
    re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abpors]|github_pat)[-_][\w-]{8,}"),
    re.compile(r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),
    re.compile(r"[A-Za-z0-9_-]{40,}"),
)
NAMED_SECRET = re.compile(
    r"(?i)\b([\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d|signature|authorization))(\"?'?\s*[=:]\s*\"?'?)[^\s\"'&,;]{4,}"
)


class UpstreamFailures:
    """The errors of one upstream. `secrets`: secrets of the request, which the upstream's message may repeat."""

    def __init__(self, name: str, authentication: Authentication, secrets: Sequence[str] = ()) -> None:
        self._name, self._authentication, self._secrets = name, authentication, secrets

    def hiding(self, secrets: Sequence[str]) -> "UpstreamFailures":
        """The same errors, for a request that contains these secrets."""
        return UpstreamFailures(self._name, self._authentication, secrets) if secrets else self

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

    def unreachable(self, why: str = "no connection, or it was closed without an answer") -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} cannot be reached: {why}.",
            reason="upstream_unreachable",
            suggestion="Try again in a minute. If the error persists, the operator should check its "
            "address and the network.",
            transient=True,
        )

    def certificate(self, why: str = "") -> UpstreamUnavailable:
        detail = f" ({why})" if why else ""
        return UpstreamUnavailable(
            f"{self._name} cannot be reached safely: its certificate is not valid{detail}.",
            reason="upstream_unreachable",
            suggestion="Trying again does not help. The operator should check the address, or trust the "
            "certificate's issuer.",
        )

    def crowded(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            "Sluice has no connection free: too many calls wait for slow upstreams.",
            reason="upstream_crowded",
            suggestion="Try again in a few seconds.",
            retry_after=5,
        )

    def cooling_down(self, seconds: float) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"{self._name} has failed several times in a row; calls to it are paused for a moment.",
            reason="upstream_unavailable",
            suggestion="Try again when retry_after seconds have passed.",
            retry_after=whole_seconds(seconds),
        )

    def limited(self, seconds: float, capacity: Mapping[str, int]) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"Sluice sends no more calls to {self._name} for now: the rate set for it is used up.",
            reason="upstream_rate",
            suggestion="Try again when retry_after seconds have passed, with fewer calls that ask for more at once.",
            retry_after=whole_seconds(seconds),
            capacity=capacity,
        )

    def too_slow(self, seconds: float) -> UpstreamTooSlow:
        return UpstreamTooSlow(
            f"{self._name} did not answer within {seconds:g} seconds.",
            reason="upstream_timeout",
            suggestion="Ask for less at once (filters, a smaller page), or try again later.",
        )

    def too_large(self, most_bytes: int) -> UpstreamTooLarge:
        return UpstreamTooLarge(
            f"{self._name} answered with more than {most_bytes / 2**20:.3g} MB; no more is read.",
            reason="upstream_too_large",
            suggestion="Ask it for less: fewer fields, filters, a smaller page.",
        )

    def garbled(self, what: str) -> UpstreamGarbled:
        return UpstreamGarbled(
            f"{self._name} sent an answer that cannot be read: {what}.",
            reason="upstream_garbled",
            suggestion="Try again once. If the error persists, tell the operator: the API may have changed or be "
            "broken.",
        )

    def redirected(self, what: str) -> UpstreamGarbled:
        return UpstreamGarbled(
            f"{self._name} redirects {what}, which is not followed.",
            reason="upstream_redirect",
            suggestion="Trying again does not help. The operator should enter the API's new address.",
        )

    def address(self) -> AddressRefused:
        return refused(f"The address of {self._name}")

    def unsendable(self) -> UpstreamRefused:
        return UpstreamRefused(
            f"The request to {self._name} cannot be sent over HTTP: its address or a header has invalid characters.",
            reason="upstream_request",
            suggestion="Look for line breaks or control characters in the arguments.",
        )

    def _busy(self, response: Response) -> UpstreamUnavailable:
        seconds = seconds_to_wait(response.headers)
        return UpstreamUnavailable(
            f"{self._name} has had too many requests for now.",
            reason="upstream_busy",
            suggestion="Try again when retry_after seconds have passed, with fewer calls that ask for more at once.",
            retry_after=whole_seconds(seconds) if seconds is not None else None,
            upstream=self._upstream_details(response),
            capacity=capacity(response.headers),
            transient=True,
        )

    def _failed(self, response: Response) -> UpstreamUnavailable:
        seconds = retry_after(response.headers)
        return UpstreamUnavailable(
            f"{self._name} failed on its side (status {response.status}).",
            reason="upstream_failed",
            suggestion="Try again in a minute; if the error persists, ask for something else, or tell the operator.",
            retry_after=whole_seconds(seconds) if seconds is not None else None,
            upstream=self._upstream_details(response),
            transient=response.status in TRANSIENT_STATUSES,
        )

    def _refused(self, response: Response) -> UpstreamRefused:
        if response.status == 404:
            return UpstreamNotFound(
                f"{self._name} has nothing at that address.",
                reason="upstream_refused",
                suggestion="Check the ids and names in the arguments; a list or search returns valid ones.",
                upstream=self._upstream_details(response),
            )
        return UpstreamRefused(
            f"{self._name} does not accept the request (status {response.status}).",
            reason="upstream_refused",
            suggestion="Change the arguments as upstream.message says, if there is one.",
            upstream=self._upstream_details(response),
        )

    def _credentials(self, response: Response) -> UpstreamCredentials:
        what = "know" if response.status == 401 else "allow this for"
        return UpstreamCredentials(
            f"{self._name} does not {what} the credentials that Sluice has for it (status {response.status}).",
            reason="upstream_credentials",
            suggestion="Trying again does not help. The operator should renew these credentials or their permissions.",
            upstream=self._upstream_details(response),
        )

    def _upstream_details(self, response: Response) -> dict[str, Any]:
        message = message_of(response, [*self._authentication.secrets, *self._secrets])
        return {"status": response.status} | ({"message": message} if message else {})


def given_up(error: UpstreamError, capacity: Mapping[str, int]) -> UpstreamError:
    """The error for the caller. For a busy upstream, it always says when to call again. `capacity`: of Sluice's own
    rate, used if the upstream does not report how many requests are left."""
    if error.reason != "upstream_busy":
        return error
    return replace(error, retry_after=error.retry_after or UNKNOWN_WAIT, capacity=error.capacity or capacity)


def message_of(response: Response, secrets: Iterable[str]) -> str:
    """The cleaned message of a JSON body, with what it says about single fields, or the first line of a plain text that
    rejects a request; "" if there is none, or if the body is too large or cannot be read. HTML pages are never
    repeated."""
    if len(response.body) > MAX_BYTES_READ:
        return ""
    if response.media_type == "text/plain" and 400 <= response.status < 500:
        return cleaned(_first_line(response.body), secrets)
    if "json" not in response.media_type:
        return ""
    try:
        document = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return ""
    return cleaned(error_messages.found_in(document), secrets)


def _first_line(body: bytes) -> str:
    text = body.decode(errors="replace").strip()
    return "" if text.startswith("<") else text.partition("\n")[0]


def cleaned(text: str, secrets: Iterable[str], most: int = MAX_CHARS) -> str:
    """Removes invisible characters first, because they could split a secret, and truncates last, so that no secret is
    cut in half."""
    text = masked(redact_text(printable(text))[0], secrets)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """The text on one line, without invisible characters."""
    text = SELECTORS.sub("", ANSI.sub("", text))
    spaced = (" " if each.isspace() else each for each in text)
    return " ".join("".join(each for each in spaced if unicodedata.category(each) not in INVISIBLE_CATEGORIES).split())


def masked(text: str, secrets: Iterable[str]) -> str:
    text = without(text, secrets)
    text = NAMED_SECRET.sub(rf"\1\2{MASK}", text)
    for pattern in TOKENS:
        text = pattern.sub(MASK, text)
    return text


def without(text: str, secrets: Iterable[str]) -> str:
    """Masks these secrets, except very short ones: longest first, because one may contain another."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text
