"""Tools that find tools, for catalogues that are too large to list."""

from gateway.connectors.connector import Connector
from gateway.connectors.tools.operations import operations

CONNECTOR = Connector(name="tools", operations=operations)
