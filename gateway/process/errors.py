"""Errors for requests that a process rejects before handling them. All have the same error shape."""

from typing import ClassVar

from websockets.http11 import MAX_LINE_LENGTH, MAX_NUM_HEADERS

from context_protection.core.errors import INVALID_REQUEST, TRANSPORT, CallError

RETRY_SECONDS = 5


class BadRequest(CallError):
    code = INVALID_REQUEST
    status = 400


class RequestTimeout(CallError):
    code = TRANSPORT
    status = 408


class BodyTooLarge(CallError):
    code = TRANSPORT
    status = 413


class HeadersTooLarge(CallError):
    code = TRANSPORT
    status = 431


class Busy(CallError):
    code = TRANSPORT
    status: ClassVar[int] = 503


def not_http() -> BadRequest:
    return BadRequest(
        "The request is not valid HTTP.",
        reason="bad_request",
        expected="an HTTP/1.1 or HTTP/1.0 request",
        suggestion="Check the request line, the headers and the chunk sizes. This port does not speak TLS or HTTP/2.",
    )


def handshake_with_body() -> BadRequest:
    return BadRequest(
        "A WebSocket handshake has no body.",
        reason="bad_request",
        suggestion="Send the handshake without Content-Length and Transfer-Encoding.",
    )


def headers_too_slow(seconds: float) -> RequestTimeout:
    return RequestTimeout(
        "The headers did not arrive in time.",
        reason="request_timeout",
        expected=f"the request line and all headers within {seconds:g} seconds",
        suggestion="Send the request again, on a new connection.",
    )


def body_too_slow(seconds: float) -> RequestTimeout:
    return RequestTimeout(
        "The body did not arrive in time.",
        reason="request_timeout",
        expected=f"the whole body within {seconds:g} seconds of the headers",
        suggestion="Send the request again, on a new connection.",
    )


def headers_too_large(most: int) -> HeadersTooLarge:
    return HeadersTooLarge(
        "The headers are too large.",
        reason="headers_too_large",
        expected=f"at most {most:,} bytes of request line and headers together; the same for trailers",
        suggestion="Send long arguments in the body of a POST.",
    )


def handshake_too_large() -> HeadersTooLarge:
    return HeadersTooLarge(
        "A header of the WebSocket handshake is too large, or there are too many.",
        reason="headers_too_large",
        expected=f"at most {MAX_NUM_HEADERS} headers of at most {MAX_LINE_LENGTH:,} bytes each",
        suggestion="Send only what the handshake needs.",
    )


def body_too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(
        "The body is too large.",
        reason="body_too_large",
        expected=f"at most {most:,} bytes",
        suggestion="Send less in one request.",
    )


def too_many_bodies() -> Busy:
    return Busy(
        "Too many large requests are arriving at once.",
        reason="busy",
        suggestion="Try again in a few seconds.",
        retry_after=RETRY_SECONDS,
    )


def no_free_slot() -> Busy:
    return Busy(
        "Too many requests are being answered at once.",
        reason="busy",
        suggestion="Try again in a few seconds.",
        retry_after=RETRY_SECONDS,
    )
