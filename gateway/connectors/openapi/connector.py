"""The connector of imported APIs, which OpenAPI documents describe."""

from gateway.connectors.connector import Connector
from gateway.connectors.openapi.operations import operations

CONNECTOR = Connector(
    name="openapi",
    source=operations,
    schedule={"purge-import-drafts": {"task": "openapi.purge_drafts", "schedule": 3600.0}},
)
