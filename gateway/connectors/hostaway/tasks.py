"""Sweeps of the worker."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from gateway.connectors.hostaway import kept_plans, store

KEPT = timedelta(hours=1)  # longer than any cursor into a text lives
LONGEST = 6 * 3600  # seconds for the plan of a very long text


@shared_task(name="hostaway.purge_unused_contents")
def purge_unused_contents() -> int:
    kept_plans.purge_old()
    return store.purge_unused_contents(timezone.now() - KEPT)


@shared_task(name="hostaway.make_plans", time_limit=LONGEST)
def make_plans() -> int:
    store.order_plans()
    return kept_plans.make_ordered()
