"""Learns the names and lengths of an operation's fields from its first responses. The fields of rows and previews are
then proposed from these, which is better than from a schema alone. A failure never affects a response: it is logged,
and learning starts again."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from context_protection.configuration.revisions import bump_on_commit
from context_protection.core.inference.proposals import proposed
from context_protection.core.json_values import storable
from context_protection.core.policy import Kind
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.response.detection import DetectedList
from gateway.connectors.openapi.response.stored_shapes import document_of
from gateway.threads.bridge import run_sync

logger = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")

ENOUGH = 20  # records
MAX_BYTES = 200_000  # bytes of the records that are examined


@dataclass
class _Collected:
    records: list[Mapping[str, Any]] = field(default_factory=list)
    bytes: int = 0  # of the responses that they came in


_collected: dict[int, _Collected] = {}  # by operation
_lock = threading.Lock()


async def collect(operation: int, records: Sequence[Mapping[str, Any]], size: int) -> Mapping[str, Any] | None:
    """Collects the records of a response of `size` bytes. Once there are ENOUGH records, or their responses exceed
    MAX_BYTES, the records' shape is stored with the operation, and learning ends. Returns the shape if it was just
    stored, so that this response already uses it; otherwise None."""
    with _lock:
        collected = _collected.setdefault(operation, _Collected())
        collected.records += records[: ENOUGH - len(collected.records)]
        collected.bytes += size
        is_enough = len(collected.records) >= ENOUGH or (collected.records and collected.bytes > MAX_BYTES)
        if not is_enough:
            return None
        del _collected[operation]
    return await _guarded(learn, operation, collected.records)


async def store_list(operation: int, listed: DetectedList) -> None:
    """Stores that the operation's responses are lists, or how upstream pages them, which its document does not say."""
    with _lock:
        _collected.pop(operation, None)  # each list was collected as one record
    await _guarded(_store_list, operation, listed)


async def _guarded(learner: Callable[[int, T], R], operation: int, found: T) -> R | None:
    """Runs `learner`, and logs any failure: the response must reach the caller, since the call may have had an
    effect."""
    try:
        return await run_sync(learner, operation, found)
    except Exception as error:
        # The error's message is left out, since it may contain values of the response.
        logger.warning("answer not learned from", extra={"operation": operation, "error": type(error).__name__})
        return None


def _store_list(operation: int, listed: DetectedList) -> None:
    """Discards fields that were learned from single records, since rows have others. Fields learned from rows stay."""
    unknown = ImportedOperation.objects.filter(pk=operation, listed={})
    document = storable(listed.document())
    _write(unknown.exclude(spec__kind=Kind.LIST), listed=document, learned={})
    _write(unknown.filter(spec__kind=Kind.LIST), listed=document)


def learn(operation: int, records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Stores the shape of these records, and returns it; None if the operation has one already or no longer exists.
    Blocks."""
    shape = document_of(proposed(_few(records)))
    return shape if _write(ImportedOperation.objects.filter(pk=operation, learned={}), learned=shape) else None


def _write(unknown: QuerySet[ImportedOperation], **values: Any) -> bool:
    """Writes the values, and returns whether there was a row to write."""
    with transaction.atomic():  # a savepoint, so that a failure does not break the caller's transaction
        is_written = unknown.update(**values) > 0
        if is_written:
            bump_on_commit()
    return is_written


def forget(operations: QuerySet[ImportedOperation]) -> int:
    """Discards what the operations have learned, so that they learn again; returns their number. Blocks."""
    count = operations.update(learned={}, listed={}, changed_at=timezone.now())
    bump_on_commit()
    return count


def _few(records: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The first records, up to MAX_BYTES but at least one, so that they are examined quickly."""
    size = 0
    chosen: list[Mapping[str, Any]] = []
    for record in records:
        size += len(orjson.dumps(record, default=str))
        if chosen and size > MAX_BYTES:
            break
        chosen.append(record)
    return chosen
