"""Tools that find tools, for catalogues that are too large to list."""

from gateway.catalog.caller import TOOLS
from gateway.connectors.connector import Connector
from gateway.connectors.tools.operations import operations

CONNECTOR = Connector(name=TOOLS, operations=operations)
