"""Sweeps of the worker."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from gateway.connectors.hostaway import store

KEPT = timedelta(hours=1)  # longer than any cursor into a text lives


@shared_task(name="hostaway.purge_unused_contents")
def purge_unused_contents() -> int:
    return store.purge_unused_contents(timezone.now() - KEPT)
