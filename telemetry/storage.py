"""Writes calls to the database, counts them and logs the decisions. Runs on the writer thread."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter, gt
from typing import Any, Protocol

from django.db import DatabaseError, DataError, IntegrityError, connection, transaction

from telemetry import counters, feed, log_stream, withheld_counts
from telemetry.bulk_rows import BulkRows
from telemetry.decisions import log_decision
from telemetry.figure import Figure
from telemetry.measurement import FIGURES, OUTSIDE_FIGURES, CallOutcome, Measurement
from telemetry.models import TelemetryRecord
from telemetry.rollups import marks
from telemetry.rollups.histogram import bucket_of

LARGEST = 2**31 - 1  # the maximum of PostgreSQL's integer
COMPUTED = (
    "saved_tokens",
    "claude_original_tokens",
    "claude_saved_tokens",
    "latency_bucket",
    "upstream_bucket",
)
COLUMNS = (*(figure.column for figure in FIGURES.values()), *COMPUTED)
CALLS = BulkRows(TelemetryRecord._meta.db_table, COLUMNS)
OUTCOMES = frozenset(CallOutcome.values)

logger = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """The database is down; the same calls may be stored later."""


@dataclass(frozen=True, slots=True)
class StoreResult:
    """The outcome of a batch, in calls."""

    stored: int = 0
    dropped: int = 0
    corrected: int = 0
    last_error: str = ""


class PendingCall(Protocol):
    """A call in the writer's queue. `measured` does the work that need not be done while the caller waits."""

    @property
    def at(self) -> datetime: ...

    def measured(self) -> Measurement: ...

    def after_storing(self) -> None:
        """Called once after `store` has stored or dropped the call; not if the writer itself drops it."""


def store(calls: Sequence[PendingCall]) -> StoreResult:
    """Stores a batch in one transaction; if a row makes that fail, stores the rows one by one.

    Raises StoreUnavailableError if nothing was stored and the same batch may be retried.
    """
    sound: list[Measurement] = []
    corrected, last_error = 0, ""
    for item in calls:
        try:
            call = item.measured()
            sound.append(put_right(call))
            corrected += sound[-1] is not call
        except Exception as error:  # a value of the wrong type, or not a Measurement
            last_error = _note_unusable(error)
    try:
        stored, database_error = _insert(sound)
    finally:
        release_connection()
    with log_stream.stderr.together():
        for call in sound:
            _count_and_log(call)
    feed.publish(sound)
    for item in calls:
        _finish(item)
    return StoreResult(stored, len(calls) - stored, corrected, database_error or last_error)


def _finish(item: PendingCall) -> None:
    """Must not raise, for the reason given at `_count_and_log`."""
    try:
        item.after_storing()
    except Exception as error:
        logger.warning("a call could not be finished", extra={"error": type(error).__name__})


def _insert(calls: Sequence[Measurement]) -> tuple[int, str]:
    """Returns how many calls were stored, and the type of the last error."""
    try:
        with transaction.atomic():
            _write(calls)
    except Exception as error:
        if _is_database_down(error):
            raise StoreUnavailableError from error
        return _insert_one_by_one(calls)
    return len(calls), ""


def _write(calls: Sequence[Measurement]) -> None:
    CALLS.insert([_row(call) for call in calls])
    marks.mark(call.at for call in calls)
    withheld_counts.count(calls)


def _insert_one_by_one(calls: Sequence[Measurement]) -> tuple[int, str]:
    stored, last_error = 0, ""
    for call in calls:
        try:
            with transaction.atomic():
                _write([call])
            stored += 1
        except Exception as error:
            last_error = _note_unusable(error)
            if _is_database_down(error):
                break  # every further row would wait for a connection
    return stored, last_error


def _is_database_down(error: Exception) -> bool:
    """Whether the database, not a row, caused the error."""
    return isinstance(error, DatabaseError) and not isinstance(error, DataError | IntegrityError)


def _note_unusable(error: Exception) -> str:
    name = type(error).__name__  # not the message: database messages quote rows
    logger.warning("a telemetry row is unusable and was dropped", extra={"error": name})
    return name


# -- Values within the columns' limits ----------------------------------------------------------------


def put_right(call: Measurement) -> Measurement:
    """`call` itself if it is valid (DM6); else a copy within the columns' limits, so that it can be stored."""
    return call if _is_sound(call) else _corrected(call)


def _named(kind: type) -> list[str]:
    return [name for name, figure in FIGURES.items() if figure.type is kind]


_texts, _numbers, _measures, _flags = (attrgetter(*_named(kind)) for kind in (str, int, float, bool))
_MOST_CHARACTERS = [FIGURES[name].max_length or 0 for name in _named(str)]  # every text has a max_length


def _is_sound(call: Measurement) -> bool:
    """Checks all values of a type at once, which is fast: nearly every call is valid, and each one is checked."""
    texts, numbers = _texts(call), _numbers(call)
    return (
        not any(map(gt, map(len, texts), _MOST_CHARACTERS))
        and "\x00" not in "".join(texts)
        and min(numbers) >= 0
        and max(numbers) <= LARGEST
        and all(0 <= value < math.inf for value in _measures(call))
        and all(value in (True, False) for value in _flags(call))
        and call.at.tzinfo is not None
        and call.outcome in OUTCOMES
        and not (call.pagination_used and call.chunking_used)
    )


def _corrected(call: Measurement) -> Measurement:
    sound = {name: SOUND[figure.type](getattr(call, name), figure) for name, figure in FIGURES.items()}
    if call.outcome not in OUTCOMES:
        sound["outcome"] = CallOutcome.ERROR if call.error_reason else CallOutcome.PLAIN
    if call.pagination_used and call.chunking_used:  # a response is never both
        sound["chunking_used" if call.outcome != CallOutcome.CHUNKED else "pagination_used"] = False
    return call._replace(**sound)


def _sound_text(value: str, figure: Figure) -> str:
    return value[: figure.max_length].replace("\x00", "")  # PostgreSQL's text cannot contain NUL


def _sound_number(value: int, figure: Figure) -> int:
    return min(max(value, 0), LARGEST)


def _sound_measure(value: float, figure: Figure) -> float:
    return value if 0 <= value < math.inf else 0.0


def _sound_moment(value: datetime, figure: Figure) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


SOUND: Mapping[type, Callable[[Any, Figure], Any]] = {
    str: _sound_text,
    int: _sound_number,
    float: _sound_measure,
    bool: lambda value, figure: bool(value),
    datetime: _sound_moment,
}

_in_order = attrgetter(*FIGURES)


def _row(call: Measurement) -> tuple[Any, ...]:
    """The values in the order of COLUMNS."""
    at: Any = connection.ops.adapt_datetimefield_value(call.at)
    factor = call.claude_factor or 1
    return (
        *_in_order(call._replace(at=at, kind="list" if call.is_list else call.kind)),
        call.saved_tokens,
        min(round(call.original_tokens * factor), LARGEST),
        max(-LARGEST, min(round(call.saved_tokens * factor), LARGEST)),
        bucket_of(call.latency_ms),
        bucket_of(call.upstream_ms),
    )


def release_connection() -> None:
    """Closes a broken connection and returns a pooled one; leaves a connection inside a test's transaction alone."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def _count_and_log(call: Measurement) -> None:
    """Must not raise: the calls are stored, and an error would make the recorder store them again."""
    if call.transport in OUTSIDE_FIGURES:
        return
    try:
        counters.count(call)
        log_decision(call)
    except Exception as error:
        logger.warning("a call could not be counted", extra={"error": type(error).__name__})
