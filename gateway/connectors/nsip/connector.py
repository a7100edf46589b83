"""NSIP Search as a connector: one upstream for all callers, who share its answers (N-FR-009)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.conf import settings

from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import cache_seconds, operations
from gateway.upstreams.client import Upstream
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.probes import Probe, http_probe
from gateway.upstreams.registry import upstreams

NAME = "nsip"
LIMITS = CallLimits(most_answers=1000)  # N-FR-009


def _operations() -> Sequence[Operation]:
    """The operations for NSIP_BASE_URL. It may lead to any address, because the deployer has set it."""
    address = urlsplit(settings.NSIP_BASE_URL)
    trusted = frozenset({f"{address.scheme}://{address.netloc}"})
    upstream = upstreams.register(Upstream(NAME, limits=LIMITS, trusted=trusted))
    return operations(Nsip(upstream, settings.NSIP_BASE_URL, cache_seconds))


def _probes() -> Sequence[Probe]:
    upstream = upstreams.get(NAME)
    return [http_probe(upstream, settings.NSIP_BASE_URL)] if upstream else []


CONNECTOR = Connector(name=NAME, switchable=True, operations=_operations, probes=_probes)
