"""Writes calls to the database, counts them and logs the decisions. Runs on the writer thread."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from django.db import DatabaseError, DataError, IntegrityError, connection, transaction
from django.db.models import CharField

from telemetry import counters, withheld
from telemetry.calls import Call
from telemetry.decisions import log_decision
from telemetry.models import Outcome, TelemetryRecord

LARGEST = 2**31 - 1  # of PostgreSQL's integer
TEXTS = {
    field.name: field.max_length
    for field in TelemetryRecord._meta.fields
    if isinstance(field, CharField) and field.name != "outcome"
}
COLUMNS = (
    "request_id",
    "created_at",
    "operation",
    "endpoint",
    "kind",
    "door",
    "caller",
    "outcome",
    "error_reason",
    "latency_ms",
    "response_bytes",
    "item_count",
    "estimated_tokens",
    "claude_tokens",
    "original_tokens",
    "baseline_tokens",
    "saved_tokens",
    "threshold",
    "oversized",
    "missing_fields",
    "pagination_used",
    "summarization_used",
    "chunking_used",
)
INSERT = (
    f"INSERT INTO {TelemetryRecord._meta.db_table} ({', '.join(COLUMNS)}) "  # noqa: S608 (names of our own)
    f"VALUES ({', '.join(['%s'] * len(COLUMNS))})"
)
OUTCOMES = frozenset(Outcome.values)
WHOLE_NUMBERS = (
    "estimated_tokens",
    "claude_tokens",
    "original_tokens",
    "baseline_tokens",
    "threshold",
    "response_bytes",
    "item_count",
)

logger = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """The database is down; the same calls may be stored later."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The outcome of a batch, in calls."""

    stored: int = 0
    dropped: int = 0
    corrected: int = 0
    last_error: str = ""


def store(calls: Sequence[Call]) -> Stored:
    """Stores a batch in one transaction; if one row makes that fail, stores row by row.

    Raises StoreUnavailableError if nothing was stored and the same batch may be retried.
    """
    sound: list[Call] = []
    corrected, last_error = 0, ""
    for call in calls:
        try:
            sound.append(put_right(call))
            corrected += sound[-1] is not call
        except Exception as error:  # a value of the wrong type, or not a Call
            last_error = _note_unusable(error)
    try:
        stored, database_error = _insert(sound)
    finally:
        release_connection()
    for call in sound:
        _count_and_log(call)
    return Stored(stored, len(calls) - stored, corrected, database_error or last_error)


def _insert(calls: Sequence[Call]) -> tuple[int, str]:
    """Returns how many calls were stored, and the type of the last error."""
    try:
        with transaction.atomic():
            _write(calls)
    except Exception as error:
        if _is_away(error):
            raise StoreUnavailableError from error
        return _insert_one_by_one(calls)
    return len(calls), ""


def _write(calls: Sequence[Call]) -> None:
    """Uses plain SQL: the ORM takes twenty times as long to build a statement with so many values."""
    with connection.cursor() as cursor:
        cursor.executemany(INSERT, [_row(call) for call in calls])
    withheld.count(calls)


def _insert_one_by_one(calls: Sequence[Call]) -> tuple[int, str]:
    stored, last_error = 0, ""
    for call in calls:
        try:
            with transaction.atomic():
                _write([call])
            stored += 1
        except Exception as error:
            last_error = _note_unusable(error)
            if _is_away(error):
                break  # every further row would wait for a connection
    return stored, last_error


def _is_away(error: Exception) -> bool:
    """Whether the database is at fault rather than a row."""
    return isinstance(error, DatabaseError) and not isinstance(error, DataError | IntegrityError)


def _note_unusable(error: Exception) -> str:
    name = type(error).__name__  # not the message: database messages quote rows
    logger.warning("a telemetry row is unusable and was dropped", extra={"error": name})
    return name


def put_right(call: Call) -> Call:
    """`call` itself if it is valid (DM6); else a copy within the columns' limits, so that it can be stored."""
    sound: dict[str, Any] = {name: _text(getattr(call, name), length) for name, length in TEXTS.items()}
    sound |= {name: _whole(getattr(call, name)) for name in WHOLE_NUMBERS}
    sound["outcome"] = call.outcome if call.outcome in OUTCOMES else _outcome_of(call)
    sound["latency_ms"] = call.latency_ms if 0 <= call.latency_ms < math.inf else 0.0
    sound["at"] = call.at if call.at.tzinfo else call.at.replace(tzinfo=UTC)
    if call.pagination_used and call.chunking_used:  # a response is never both
        sound["chunking_used" if call.outcome != Outcome.CHUNKED else "pagination_used"] = False
    changes = {name: value for name, value in sound.items() if value != getattr(call, name)}
    return replace(call, **changes) if changes else call


def _text(value: str, length: int | None) -> str:
    return value[:length].replace("\x00", "")  # PostgreSQL's text has no NUL


def _whole(value: int) -> int:
    return min(max(value, 0), LARGEST)


def _outcome_of(call: Call) -> str:
    return Outcome.ERROR if call.error_reason else Outcome.PLAIN


def _row(call: Call) -> tuple[Any, ...]:
    """The values in the order of COLUMNS."""
    return (
        call.request_id,
        connection.ops.adapt_datetimefield_value(call.at),
        call.operation,
        call.endpoint,
        "list" if call.is_list else call.kind,
        call.door,
        call.caller,
        call.outcome,
        call.error_reason,
        call.latency_ms,
        call.response_bytes,
        call.item_count,
        call.estimated_tokens,
        call.claude_tokens,
        call.original_tokens,
        call.baseline_tokens,
        call.saved_tokens,
        call.threshold,
        call.oversized,
        call.missing_fields,
        call.pagination_used,
        call.summarization_used,
        call.chunking_used,
    )


def release_connection() -> None:
    """Closes a broken connection and returns a pooled one; leaves a connection inside a test's transaction alone."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def _count_and_log(call: Call) -> None:
    """Must not raise: the calls are stored, and an error would make the recorder store them again."""
    try:
        counters.count(call)
        log_decision(call)
    except Exception as error:
        logger.warning("a call could not be counted", extra={"error": type(error).__name__})
