"""Periodic tasks of the worker."""

from celery import shared_task

from gateway.connectors.codebase.indexing.synchronization import synchronize

SLICE = 5.0  # seconds of one task, so that other tasks have their turn


@shared_task(name="codebase.synchronize")
def synchronize_indexes() -> None:
    if not synchronize(SLICE):
        synchronize_indexes.delay()
