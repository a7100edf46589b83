"""Periodic tasks of the worker."""

from celery import shared_task

from context_protection.stores.table_snapshots import TableSnapshots


@shared_task(name="context_protection.tasks.purge_expired_walks")
def purge_expired_walks() -> int:
    return TableSnapshots().purge()
