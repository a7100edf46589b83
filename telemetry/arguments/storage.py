"""Masks and stores the arguments of calls. `store` runs on the writer thread."""

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings

from telemetry.arguments.masks import Hidden, masked
from telemetry.models import CallArguments
from telemetry.recorder import ProcessRecorder
from telemetry.storage import StoreResult, release_connection

logger = logging.getLogger(__name__)

LONGEST = 64 * 1024  # characters of arguments whose values are stored
LONGEST_ANSWER = 8 * 1024  # bytes
MOST_HIDDEN, MOST_NAMES = 100, 100  # the most masked values and names that are stored for a call
CAPACITY = 16 * 1024 * 1024  # characters in the queue
OVERHEAD = 500  # characters added to the weight of each call


class CallWithArguments(NamedTuple):
    """`ended`: exactly the time in the call's measurement. `arguments`: JSON; empty if they are too long or not JSON.
    `answer`: the error that the client got, as JSON; empty for a successful call."""

    ended: float  # time.time()
    request_id: str
    operation: str
    caller: str
    arguments: str
    answer: bytes

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.ended, UTC)


def weight(call: CallWithArguments) -> int:
    return len(call.arguments) + len(call.answer) + OVERHEAD


def store(calls: Sequence[CallWithArguments]) -> StoreResult:
    """Stores a batch. A call that cannot be masked is dropped; the others are stored."""
    rows = [row for call in calls if (row := _row(call)) is not None]
    try:
        CallArguments.objects.bulk_create(rows, ignore_conflicts=True)  # a batch may be stored twice
    finally:
        release_connection()
    return StoreResult(stored=len(rows), dropped=len(calls) - len(rows))


def _row(call: CallWithArguments) -> CallArguments | None:
    try:
        values, hidden = _masked(call.operation, call.arguments)
        answer, _ = _masked(call.operation, call.answer.decode())
    except Exception as error:
        # The error's message is left out, since it may contain an argument's value.
        logger.warning("arguments could not be masked, so they are not stored", extra={"error": type(error).__name__})
        return None
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":")) if answer is not None else ""
    return CallArguments(
        request_id=_storable(call.request_id),
        at=call.at,
        expires_at=call.at + timedelta(days=settings.TELEMETRY_ARGUMENT_DAYS),
        operation=_storable(call.operation)[:100],
        caller=_storable(call.caller)[:100],
        names=list(values or ())[:MOST_NAMES],
        values=values,
        hidden=[{"name": each.name, "characters": each.characters, "rule": each.rule} for each in hidden][:MOST_HIDDEN],
        answer=text.encode()[:LONGEST_ANSWER].decode(errors="ignore"),
    )


def _masked(operation: str, text: str) -> tuple[Any, Sequence[Hidden]]:
    """The masked value and what was hidden; None without a registered mask, or for an empty text."""
    if not text:
        return None, ()
    found = masked(operation, json.loads(_storable(json.dumps(json.loads(text), ensure_ascii=False))))
    return (None, ()) if found is None else (found.value, found.hidden)


def _storable(text: str) -> str:
    """The text without NUL (also as an escape in JSON) and without lone surrogates, which PostgreSQL cannot store."""
    return text.replace("\x00", "").replace("\\u0000", "").encode("utf-8", "replace").decode()


_arguments: ProcessRecorder[CallWithArguments] = ProcessRecorder(
    store, name="call-arguments", capacity=CAPACITY, weight=weight, batch=50
)
keep = _arguments.record
flush = _arguments.flush
stop = _arguments.stop
state = _arguments.state
on_callers_thread = _arguments.on_callers_thread
