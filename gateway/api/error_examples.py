"""Examples of errors for the OpenAPI document: at least one for each code, under the statuses that it comes with."""

from collections.abc import Mapping, Sequence

from context_protection.core.errors import (
    CallError,
    CondensingFailed,
    InternalError,
    InvalidArgument,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    UnknownOperation,
    invalid_cursor,
    store_unavailable,
)
from gateway.dispatch.errors import too_slow
from gateway.process.errors import body_too_large, no_free_slot
from gateway.upstreams.errors import UpstreamGarbled, UpstreamUnavailable

INVALID_LIMIT = InvalidArgument(
    "limit exceeds maximum of 200.",
    reason="invalid_limit",
    parameter="limit",
    value=500,
    expected="a whole number from 1 to 200",
    suggestion="Set limit to 200, and follow nextCursor for more rows.",
)
NO_KEY = NotAuthenticated(
    "The call has no API key.",
    reason="not_authenticated",
    parameter="Authorization",
    value="(not shown)",
    expected="Bearer and an API key",
    suggestion="Make a key with: manage.py apikey create NAME, and send it as: Authorization: Bearer <key>",
)
NO_TELEMETRY = NotAllowed(
    "This caller may not read telemetry.",
    reason="telemetry_not_allowed",
    suggestion="Use another key, or tick “May read telemetry” for this one (Admin, API keys).",
)
NO_RECORD = NotFound(
    "There is no booking 1.",
    reason="not_found",
    parameter="id",
    value=1,
    expected="the id of a booking",
    suggestion="Find the id with list_bookings.",
)
NO_OPERATION = UnknownOperation(
    "There is no operation 'list_booking'.",
    reason="unknown_operation",
    parameter="name",
    value="list_booking",
    suggestion="Set name to list_bookings.",
)
FAILED = "If the error persists, tell the operator the request id 01ARZ3NDEKTSV4RRFFQ69G5FAV."
GARBLED = UpstreamGarbled(
    "acme sent an answer that cannot be read: not JSON.",
    reason="upstream_garbled",
    suggestion="Try again once. If the error persists, tell the operator: the API may have changed or be broken.",
)
BUSY = UpstreamUnavailable(
    "acme has had too many requests for now.",
    reason="upstream_busy",
    suggestion="Try again when retry_after seconds have passed, with fewer calls that ask for more at once.",
    retry_after=17,
    upstream={"status": 429},
    capacity={"remaining": 0, "limit": 60},
)
BY_STATUS: Mapping[int, Sequence[CallError]] = {
    400: (INVALID_LIMIT, invalid_cursor("cursor_expired", "eyJ…", "The cursor has expired.")),
    401: (NO_KEY,),
    403: (NO_TELEMETRY,),
    404: (NO_RECORD, NO_OPERATION),
    413: (body_too_large(10_000_000),),
    500: (
        InternalError("Something failed on our side.", reason="internal_error", suggestion=FAILED),
        CondensingFailed("The answer could not be condensed.", reason="condensing_failed", suggestion=FAILED),
    ),
    502: (GARBLED,),
    503: (BUSY, store_unavailable(5), no_free_slot()),
    504: (too_slow(60),),
}
