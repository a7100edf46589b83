"""Learns from an operation's first responses which fields it has and how long they are. The fields of rows and previews
are then proposed from this, which is better than a schema alone. Learning never costs a response: a failure is logged,
and learning starts again."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from context_protection.configuration.revisions import bump_on_commit
from context_protection.core.inference.proposals import proposed
from context_protection.core.json_values import storable
from gateway.connectors.openapi.detection import Listed
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.stored_shapes import document_of
from gateway.threads.bridge import run_sync

logger = logging.getLogger(__name__)
T = TypeVar("T")

ENOUGH = 20  # records
MOST_BYTES = 200_000  # of records that are examined

_seen: dict[int, list[Mapping[str, Any]]] = {}
_lock = threading.Lock()


async def noted(operation: int, records: Sequence[Mapping[str, Any]]) -> None:
    """Collects the records of a response. Once there are enough, their shape is stored with the operation, which is
    then no longer learned from."""
    with _lock:
        known = _seen.setdefault(operation, [])
        known += records[: ENOUGH - len(known)]
        if len(known) < ENOUGH:
            return
        del _seen[operation]
    await _guarded(learn, operation, known)


async def noted_list(operation: int, listed: Listed) -> None:
    """Stores with the operation that its responses are lists, which its document does not say."""
    with _lock:
        _seen.pop(operation, None)  # they were collected as records of their own
    await _guarded(_store_list, operation, listed)


async def _guarded(learner: Callable[[int, T], None], operation: int, found: T) -> None:
    """Learns, but logs any failure. The response must reach the caller in any case, since the call may have had an
    effect."""
    try:
        await run_sync(learner, operation, found)
    except Exception as error:
        # The error's message is left out: it may hold values of the response.
        logger.warning("answer not learned from", extra={"operation": operation, "error": type(error).__name__})


def _store_list(operation: int, listed: Listed) -> None:
    unknown = ImportedOperation.objects.filter(pk=operation, listed={})
    _write(unknown, listed=storable(listed.document()), learned={})


def learn(operation: int, records: Sequence[Mapping[str, Any]]) -> None:
    """Stores the shape of these records, unless one is stored already. Blocks."""
    shape = document_of(proposed(_few(records)))
    _write(ImportedOperation.objects.filter(pk=operation, learned={}), learned=shape)


def _write(unknown: QuerySet[ImportedOperation], **values: Any) -> None:
    with transaction.atomic():  # a savepoint, so that a failure does not break the caller's transaction
        if unknown.update(**values):
            bump_on_commit()


def forget(operations: QuerySet[ImportedOperation]) -> int:
    """Lets the operations learn again from their next responses; returns how many they are. Blocks."""
    count = operations.update(learned={}, listed={}, changed_at=timezone.now())
    bump_on_commit()
    return count


def _few(records: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The first of the records, few enough to be examined quickly, but at least one."""
    size = 0
    chosen: list[Mapping[str, Any]] = []
    for record in records:
        size += len(orjson.dumps(record, default=str))
        if chosen and size > MOST_BYTES:
            break
        chosen.append(record)
    return chosen
