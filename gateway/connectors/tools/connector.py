"""Tools that find tools, where there are too many to be listed."""

from gateway.connectors.connector import Connector
from gateway.connectors.tools.operations import operations

CONNECTOR = Connector(name="tools", operations=operations)
