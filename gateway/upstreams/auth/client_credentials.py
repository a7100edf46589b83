"""OAuth 2.0 client credentials (RFC 6749, 4.4). All calls share one token. It is renewed before it expires, or once
when the upstream rejects it.

Calls run in several event loops at once, so waiting calls share a future that belongs to no loop.
"""

import asyncio
import base64
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

from gateway.upstreams.connections import ClientPlace, Connection
from gateway.upstreams.errors import UpstreamError, UpstreamGarbled, UpstreamRefused, UpstreamUnavailable
from gateway.upstreams.quota import seconds_to_wait, whole_seconds
from gateway.upstreams.request import Request, Response, Send, with_header

DEFAULT_LIFETIME_SECONDS = 3600.0  # lifetime of a token if the answer names none
MARGIN_SHARE, MARGIN_SECONDS = 0.1, 30.0  # a token is replaced this long before it expires (the larger applies)
YOUNG_SECONDS = 5.0  # if a token this young is rejected, the token is not the cause
MAX_PATIENT_SECONDS = 300.0  # longest pause between renewals while every new token is rejected
REFUSAL_SECONDS = 10.0  # pause after a rejection by the token endpoint
LONGEST_TOKEN = 16_384  # characters
BUSY = 429

# Error codes of a token endpoint (RFC 6749, 5.2). Nothing else from its body is repeated.
KNOWN_ERRORS = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
    | {"invalid_scope", "invalid_target", "access_denied"}
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Token:
    """Times are on the clock of ClientCredentials. `patience`: a token younger than this, in seconds, is not renewed
    when it is rejected."""

    value: str = field(repr=False)
    issued_at: float
    usable_at: float
    replaced_at: float
    patience: float = YOUNG_SECONDS
    is_renewal: bool = False


class FetchAbandoned(Exception):
    """The call that was fetching the token has been cancelled; another call must fetch it."""


class ClientCredentials:
    """`clock` returns monotonic seconds; `sleep` takes seconds."""

    def __init__(
        self,
        connection: Connection,
        secret: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._connection = connection
        self._secret = secret
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._fetching: Future[Token] | None = None
        self._rejection: tuple[float, UpstreamError] | None = None  # until this time, the error is raised again

    @property
    def secrets(self) -> tuple[str, ...]:
        token = self._token
        return (self._secret, quote_plus(self._secret), self._pair, *([token.value] if token else []))

    async def apply(self, request: Request, send: Send) -> Request:
        """Raises UpstreamError if no token can be fetched."""
        token = self._token
        if token is None or self._clock() >= token.replaced_at:
            token = await self._token_other_than(token, send)
        wait = token.usable_at - self._clock()
        if wait > 0:
            await self._sleep(wait)
        return with_header(request, "Authorization", f"Bearer {token.value}")

    async def renewed(self, refused: Response, send: Send) -> bool:
        """Whether to send the request again. A young token is not renewed. If it has just replaced another token, the
        request is sent again, because it may have carried the old token. Raises UpstreamError if no token can be
        fetched."""
        token = self._token
        if token is not None:
            age = self._clock() - token.issued_at
            if age < token.patience:
                return token.is_renewal and age < YOUNG_SECONDS
        await self._token_other_than(token, send)
        return True

    # -- One call fetches the token, the others wait ---------------------------------------------------

    async def _token_other_than(self, former: Token | None, send: Send) -> Token:
        while True:
            with self._lock:
                if self._token is not None and self._token is not former:
                    return self._token
                pending = self._fetching
                if pending is None:
                    own = self._fetching = _running_future()
            if pending is None:
                return await self._fetch_for_all(own, former, send)
            try:
                return await asyncio.wrap_future(pending)
            except FetchAbandoned:
                continue

    async def _fetch_for_all(self, waiting: Future[Token], former: Token | None, send: Send) -> Token:
        try:
            token = await self._fetch(former, send)
        except BaseException as error:
            with self._lock:
                self._fetching = None
            waiting.set_exception(error if isinstance(error, Exception) else FetchAbandoned())
            raise
        with self._lock:
            self._token, self._fetching = token, None
        waiting.set_result(token)
        return token

    # -- The token request -----------------------------------------------------------------------------

    async def _fetch(self, former: Token | None, send: Send) -> Token:
        if self._rejection is not None and self._clock() < self._rejection[0]:
            raise self._rejection[1]
        response = await send(self._request())
        if not 200 <= response.status < 300:
            raise self._failure(response)
        return self._token_of(response, former)

    def _request(self) -> Request:
        """A request built from nothing but the connection, so no header or body meant for the API reaches the token
        endpoint."""
        own = self._connection
        form = {"grant_type": "client_credentials", "scope": own.scope, "audience": own.audience}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if own.client_place is ClientPlace.HEADER:
            headers["Authorization"] = f"Basic {self._pair}"
        else:
            form |= {"client_id": own.client_id, "client_secret": self._secret}
        body = urlencode({name: value for name, value in form.items() if value})
        return Request("POST", own.token_url, headers, body.encode())

    @property
    def _pair(self) -> str:
        pair = f"{quote_plus(self._connection.client_id)}:{quote_plus(self._secret)}"
        return base64.b64encode(pair.encode()).decode()

    def _token_of(self, response: Response, former: Token | None) -> Token:
        answer = _document(response)
        value = answer.get("access_token")
        if not isinstance(value, str) or not _fits_a_header(value):
            raise self._garbled()
        now = self._clock()
        logger.info("token fetched", extra={"upstream": self._connection.name, "renewal": former is not None})
        return Token(
            value,
            issued_at=now,
            usable_at=now + self._connection.usable_after,
            replaced_at=now + renewal_seconds(answer.get("expires_in")),
            patience=_patience_after(former, now),
            is_renewal=former is not None,
        )

    # -- Errors ----------------------------------------------------------------------------------------

    def _failure(self, response: Response) -> UpstreamError:
        name, status = self._connection.name, response.status
        message = f"The token endpoint of {name} answered {status}."
        if status == BUSY or status >= 500:
            reason = "upstream_busy" if status == BUSY else "upstream_failed"
            seconds = seconds_to_wait(response.headers)
            retry_after = whole_seconds(seconds) if seconds is not None else None
            return UpstreamUnavailable(
                message, reason=reason, suggestion="Try again in a minute.", retry_after=retry_after
            )
        error = UpstreamRefused(
            message,
            reason="upstream_credentials",
            suggestion=f"Tell the operator: check client id, secret, scope and token address of {name} in the admin.",
            upstream={"status": status, **_known_error(response)},
        )
        self._rejection = self._clock() + REFUSAL_SECONDS, error
        return error

    def _garbled(self) -> UpstreamGarbled:
        name = self._connection.name
        return UpstreamGarbled(
            f"The token endpoint of {name} answered without a token.",
            reason="upstream_credentials",
            suggestion=f"Tell the operator: check the token address of {name} in the admin.",
        )


def renewal_seconds(expires_in: Any) -> float:
    """Seconds until a token is replaced: before it expires, but not before half its lifetime."""
    try:
        seconds = float(expires_in)
    except (TypeError, ValueError):
        seconds = DEFAULT_LIFETIME_SECONDS
    if not 0 < seconds < math.inf:
        seconds = DEFAULT_LIFETIME_SECONDS
    return max(seconds - max(MARGIN_SHARE * seconds, MARGIN_SECONDS), seconds / 2)


def _patience_after(former: Token | None, now: float) -> float:
    """Doubles the patience if the former token was replaced soon: the upstream then rejects calls for another
    reason."""
    if former is None or now - former.issued_at > MAX_PATIENT_SECONDS:
        return YOUNG_SECONDS
    return min(2 * former.patience, MAX_PATIENT_SECONDS)


def _document(response: Response) -> Mapping[str, Any]:
    """The JSON object of an answer, unwrapped from {"status", "result": {…}} if needed; empty for anything else."""
    try:
        document = response.json()
    except ValueError:
        return {}
    if isinstance(document, dict) and "access_token" not in document and isinstance(document.get("result"), dict):
        document = document["result"]
    return document if isinstance(document, dict) else {}


def _known_error(response: Response) -> dict[str, str]:
    code = _document(response).get("error")
    return {"message": code} if isinstance(code, str) and code in KNOWN_ERRORS else {}


def _fits_a_header(token: str) -> bool:
    return 0 < len(token) <= LONGEST_TOKEN and all("!" <= char <= "~" for char in token)


def _running_future() -> Future[Token]:
    """A future in the running state, so that a cancelled waiter does not cancel it."""
    future: Future[Token] = Future()
    future.set_running_or_notify_cancel()
    return future
