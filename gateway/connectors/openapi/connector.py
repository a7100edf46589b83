"""The connector of imported APIs, which OpenAPI documents describe."""

from gateway.connectors.connector import Connector
from gateway.connectors.openapi.operations import operations
from gateway.upstreams.probes import Probe, http_probe
from gateway.upstreams.registry import upstream_of


def _probes() -> list[Probe]:
    """The APIs that have at least one callable operation."""
    from gateway.connectors.openapi.models import ImportedOperation
    from gateway.upstreams.models import UpstreamApi

    used = ImportedOperation.objects.filter(enabled=True, is_gone=False).values("api__upstream")
    connections = [each.connection() for each in UpstreamApi.objects.filter(enabled=True, pk__in=used)]
    return [http_probe(upstream_of(each), each.base_url) for each in connections]


CONNECTOR = Connector(
    name="openapi",
    source=operations,
    probes=_probes,
    schedule={"purge-import-drafts": {"task": "openapi.purge_drafts", "schedule": 3600.0}},
)
