"""What an operation's first answers say of its fields: which there are, and how long. It then proposes what a row and a
preview show, better than a schema alone. Learning never costs an answer: what fails is logged, and tried again."""

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
from gateway.process.bridge import run_sync

logger = logging.getLogger(__name__)
T = TypeVar("T")

ENOUGH = 20  # records
MOST_BYTES = 200_000  # of records that are looked at

_seen: dict[int, list[Mapping[str, Any]]] = {}
_lock = threading.Lock()


async def noted(operation: int, records: Sequence[Mapping[str, Any]]) -> None:
    """Takes the records of an answer into account; once they are enough, their shape is kept with the operation, and
    nothing is learned of it any more."""
    with _lock:
        known = _seen.setdefault(operation, [])
        known += records[: ENOUGH - len(known)]
        if len(known) < ENOUGH:
            return
        del _seen[operation]
    await _guarded(learn, operation, known)


async def noted_list(operation: int, listed: Listed) -> None:
    """Keeps with the operation that its answers are lists, which its document does not say."""
    with _lock:
        _seen.pop(operation, None)  # they were taken for records
    await _guarded(_keep_list, operation, listed)


async def _guarded(learner: Callable[[int, T], None], operation: int, found: T) -> None:
    """The answer is there, and what it answers may have been done: it leaves, whatever becomes of this."""
    try:
        await run_sync(learner, operation, found)
    except Exception as error:
        # Its message may hold values of the answer.
        logger.warning("answer not learned from", extra={"operation": operation, "error": type(error).__name__})


def _keep_list(operation: int, listed: Listed) -> None:
    unknown = ImportedOperation.objects.filter(pk=operation, listed={})
    _write(unknown, listed=storable(listed.document()), learned={})


def learn(operation: int, records: Sequence[Mapping[str, Any]]) -> None:
    """Keeps the shape of these records, unless there is one. Blocks."""
    shape = document_of(proposed(_few(records)))
    _write(ImportedOperation.objects.filter(pk=operation, learned={}), learned=shape)


def _write(unknown: QuerySet[ImportedOperation], **values: Any) -> None:
    with transaction.atomic():  # where it fails, a transaction of the caller's goes on
        if unknown.update(**values):
            bump_on_commit()


def forget(operations: QuerySet[ImportedOperation]) -> int:
    """Lets them learn anew from their next answers; how many they are. Blocks."""
    count = operations.update(learned={}, listed={}, changed_at=timezone.now())
    bump_on_commit()
    return count


def _few(records: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The first of them, of a size that can be looked at in a moment."""
    size = 0
    chosen: list[Mapping[str, Any]] = []
    for record in records:
        size += len(orjson.dumps(record, default=str))
        if chosen and size > MOST_BYTES:
            break
        chosen.append(record)
    return chosen
