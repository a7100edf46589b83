"""Periodic tasks of the worker."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from gateway.connectors.hostaway import live, live_connection, store, stored_plans, webhook_events
from gateway.connectors.hostaway import sync as syncing

RETENTION = timedelta(hours=1)  # longer than the lifetime of any cursor into a text
LONGEST = 6 * 3600  # seconds for the plan of a very long text
SYNC_SECONDS = 200  # seconds of one task; the next task continues


@shared_task(name="hostaway.purge_unused_contents")
def purge_unused_contents() -> int:
    stored_plans.purge_old()
    return store.purge_unused_contents(timezone.now() - RETENTION)


@shared_task(name="hostaway.make_plans", time_limit=LONGEST)
def make_plans() -> int:
    store.order_plans()
    return stored_plans.make_ordered()


@shared_task(name="hostaway.sync")
def sync() -> str:
    """Does nothing without credentials."""
    account = live.account()
    if account is None:
        return ""
    return syncing.run(account.id, live_connection.client(account), seconds=SYNC_SECONDS).value


@shared_task(name="hostaway.apply_webhooks")
def apply_webhooks() -> int:
    account = live.account()
    return webhook_events.apply_waiting(account.id, live_connection.client(account)) if account else 0


@shared_task(name="hostaway.purge_webhooks")
def purge_webhooks() -> int:
    return webhook_events.purge()
