"""The connector of imported APIs, which OpenAPI documents describe."""

from context_protection.core.policy import Kind
from gateway.connectors.connector import Connector
from gateway.connectors.openapi.operations import operations, tool_name
from gateway.connectors.switch_rows import SwitchRow
from gateway.upstreams.probes import Probe, http_probe
from gateway.upstreams.registry import upstream_of


def _probes() -> list[Probe]:
    """The probes of the APIs that have at least one callable operation."""
    from gateway.connectors.openapi.models import ImportedOperation
    from gateway.upstreams.models import UpstreamApi

    used = ImportedOperation.objects.filter(enabled=True, is_gone=False).values("api__upstream")
    connections = [each.connection() for each in UpstreamApi.objects.filter(enabled=True, pk__in=used)]
    return [http_probe(upstream_of(each), each.base_url) for each in connections]


def _switches() -> list[SwitchRow]:
    from gateway.connectors.openapi.models import ImportedOperation

    rows = ImportedOperation.objects.filter(is_gone=False).select_related("api__upstream")
    return [
        SwitchRow(
            tool_name(row.api.upstream.name, row.name),
            row.documented.kind is not Kind.ACTION,
            row.tokens,
            row,
            has_effect=row.api.upstream.enabled,
        )
        for row in rows
    ]


CONNECTOR = Connector(
    name="openapi",
    source=operations,
    probes=_probes,
    switches=_switches,
    schedule={"purge-import-drafts": {"task": "openapi.purge_drafts", "schedule": 3600.0}},
)
