"""Periodic tasks of the worker."""

from celery import shared_task

from gateway.connectors.openapi.models import ImportDraft


@shared_task(name="openapi.purge_drafts")
def purge_drafts() -> int:
    return ImportDraft.purge()
