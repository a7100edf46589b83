"""Hostaway: listings, bookings, transactions and documents of a property manager's account."""

from typing import cast

from django.conf import settings

from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.connectors.hostaway import documents, live, live_connection, table_operations
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.completion import IDENTIFIERS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.prompts import prompts
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from gateway.upstreams.client import Upstream
from gateway.upstreams.probes import Probe, http_probe


def _operations() -> list[Operation]:
    tables = (LISTINGS, BOOKINGS, TRANSACTIONS)
    return [*(each for table in tables for each in table_operations.operations(table)), *documents.operations()]


def _probes() -> list[Probe]:
    """The probe of the live account. The sample account has no upstream."""
    account = live.account()
    if account is None:
        return []
    client = live_connection.client(account)
    return [http_probe(cast(Upstream, client.upstream), client.base_url)]


CONNECTOR = Connector(
    name="hostaway",
    switchable=True,
    operations=_operations,
    prompts=prompts,
    identifiers=IDENTIFIERS,
    probes=_probes,
    schedule={
        "make-plans": {"task": "hostaway.make_plans", "schedule": 15.0},
        "purge-unused-contents": {"task": "hostaway.purge_unused_contents", "schedule": 3600.0},
        "sync-hostaway": {"task": "hostaway.sync", "schedule": float(settings.HOSTAWAY_SYNC_SECONDS)},
        "apply-webhooks": {"task": "hostaway.apply_webhooks", "schedule": 15.0},
        "purge-webhooks": {"task": "hostaway.purge_webhooks", "schedule": 3600.0},
    },
)
