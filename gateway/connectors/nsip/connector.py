"""NSIP Search as a connector: one upstream for all callers, who share its answers (N-FR-009)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.conf import settings

from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import keep_seconds, operations
from gateway.upstreams.registry import upstreams
from gateway.upstreams.upstream import Upstream

NAME = "nsip"


def _operations() -> Sequence[Operation]:
    """The operations for the address in NSIP_BASE_URL, which the deployer trusts wherever it is."""
    address = urlsplit(settings.NSIP_BASE_URL)
    upstream = upstreams.register(Upstream(NAME, trusted=frozenset({f"{address.scheme}://{address.netloc}"})))
    return operations(Nsip(upstream, settings.NSIP_BASE_URL, keep_seconds))


CONNECTOR = Connector(name=NAME, operations=_operations)
